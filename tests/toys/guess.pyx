"""Guess the card: seat 0 holds one of two cards, seat 1 names one; who is right, or not found out, wins.

When seat 0 begins it chooses the card, unseen, by 0 or 1, or takes a safe share of the victory by 2. When seat 1 begins the
card was dealt, and it chooses to guess by 0 or to take the safe share by 2. Then seat 1 guesses by 0 or 1.
"""

from bvb_core.game cimport TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    HIDDEN = -1
    NONE = -2
    SAFE = 2


cdef struct Guess:
    int32_t card           # NONE before it was chosen
    int32_t begun          # the first action, NONE before it; of a card that was chosen 0
    int32_t guessed        # NONE before it


cdef inline int32_t first_of(const void *ctx) noexcept nogil:
    return (<const Options *>ctx).first


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    (<Guess *>state)[0] = Guess(rng_below(rng, 2) if first_of(ctx) == 1 else NONE, NONE, NONE)


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Guess *s = <const Guess *>state
    if s.begun == SAFE or s.guessed != NONE:
        return TERMINAL_NODE
    return first_of(ctx) if s.begun == NONE else 1


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    cdef const Guess *s = <const Guess *>state
    cdef int32_t n = 0
    if current_player(ctx, state) == TERMINAL_NODE:
        return 0
    actions[n] = 0
    n += 1
    if s.begun != NONE or first_of(ctx) == 0:
        actions[n] = 1
        n += 1
    if s.begun == NONE:
        actions[n] = SAFE
        n += 1
    return n


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    cdef Guess *s = <Guess *>state
    if s.begun != NONE:
        s.guessed = action
    elif action == SAFE:
        s.begun = SAFE
    else:
        s.begun = 0
        if first_of(ctx) == 0:
            s.card = action


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    cdef const Guess *s = <const Guess *>state
    cdef int32_t first = first_of(ctx)
    if s.begun == SAFE:
        shares[first] = (<const Options *>ctx).percent[0] / 100.0
        shares[1 - first] = 1 - shares[first]
    else:
        halves(0 if s.guessed == NONE else -1 if s.guessed == s.card else 1, shares)


cdef void observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    cdef Guess *seen = <Guess *>observation
    seen[0] = (<const Guess *>state)[0]
    if observer != 0 and seen.card != NONE and seen.guessed == NONE:
        seen.card = HIDDEN


cdef void determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    cdef Guess *s = <Guess *>state
    s[0] = (<const Guess *>belief)[0]
    if s.card == HIDDEN:
        s.card = rng_below(rng, 2)


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    cdef const Guess *s = <const Guess *>state
    cdef int32_t known = s.card if observer == 0 or s.guessed != NONE else HIDDEN
    return key_of(s.begun, s.guessed + 1, known + 1)


def game(int first, int safe_percent) -> ToyGame:
    """`first` begins, and may take `safe_percent` of the victory."""
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(2, sizeof(Guess), 3)
    made.options.first = first
    made.options.percent[0] = safe_percent
    ops.initial_state = initial_state
    ops.current_player = current_player
    ops.legal_actions = ops.search_actions = legal_actions
    ops.apply = apply
    ops.returns = returns
    ops.scores = returns
    ops.observe = observe
    ops.determinize = determinize
    ops.event_key = event_key
    made.check_ops()
    return made
