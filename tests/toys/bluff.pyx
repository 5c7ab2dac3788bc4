"""A bluff: seat 0 asks for a card by 0, and is dealt a good or a bad one, unseen by seat 1. It passes by 0, which ends the game
for one chip, or raises to two by 1. Seat 1 gives up by 0, for one chip, or calls by 1. The good card wins, the bad one loses.

Best play: always raise with the good card, and with one bad card of three; call two raises of three. Seat 0 then wins a third
of a chip on average. Returns are the chips over four, plus a half.
"""

from bvb_core.game cimport CHANCE_NODE, TERMINAL_NODE
from bvb_core.rng cimport rng_below
from tests.toys.base cimport *

cdef enum:
    HIDDEN = -1
    NONE = -2


cdef struct Bluff:
    int32_t asked
    int32_t good           # NONE before the deal
    int32_t raised         # NONE before it was decided
    int32_t called


cdef void initial_state(const void *ctx, Rng *rng, void *state) noexcept nogil:
    (<Bluff *>state)[0] = Bluff(0, NONE, NONE, NONE)


cdef int32_t current_player(const void *ctx, const void *state) noexcept nogil:
    cdef const Bluff *s = <const Bluff *>state
    if not s.asked:
        return 0
    if s.good == NONE:
        return CHANCE_NODE
    if s.raised == NONE:
        return 0
    return 1 if s.raised == 1 and s.called == NONE else TERMINAL_NODE


cdef int32_t legal_actions(const void *ctx, const void *state, int32_t *actions) noexcept nogil:
    if current_player(ctx, state) < 0:
        return 0
    actions[0] = 0
    actions[1] = 1
    return 1 + (<const Bluff *>state).asked


cdef void apply(const void *ctx, void *state, int32_t action) noexcept nogil:
    cdef Bluff *s = <Bluff *>state
    if not s.asked:
        s.asked = 1
    elif s.raised == NONE:
        s.raised = action
    else:
        s.called = action


cdef int32_t sample_chance(const void *ctx, const void *state, Rng *rng) noexcept nogil:
    return rng_below(rng, 2)


cdef void apply_chance(const void *ctx, void *state, int32_t outcome) noexcept nogil:
    (<Bluff *>state).good = outcome


cdef void returns(const void *ctx, const void *state, double *shares) noexcept nogil:
    cdef const Bluff *s = <const Bluff *>state
    cdef double chips = 0
    if s.raised == 1 and s.called == 0:
        chips = 1
    elif s.raised == 0 or s.called == 1:
        chips = (1 if s.good else -1) * (s.raised + 1)
    halves(chips / 2, shares)


cdef void observe(const void *ctx, const void *state, int32_t observer, void *observation) noexcept nogil:
    cdef Bluff *seen = <Bluff *>observation
    seen[0] = (<const Bluff *>state)[0]
    if observer != 0 and seen.good != NONE and current_player(ctx, state) != TERMINAL_NODE:
        seen.good = HIDDEN


cdef void determinize(const void *ctx, const void *belief, Rng *rng, void *state) noexcept nogil:
    cdef Bluff *s = <Bluff *>state
    s[0] = (<const Bluff *>belief)[0]
    if s.good == HIDDEN:
        s.good = rng_below(rng, 2)


cdef uint64_t event_key(const void *ctx, const void *state, int32_t observer) noexcept nogil:
    cdef const Bluff *s = <const Bluff *>state
    cdef int32_t known = s.good
    if observer != 0 and s.good != NONE and current_player(ctx, state) != TERMINAL_NODE:
        known = HIDDEN
    return key_of(s.raised + 1, s.called + 1, known + 1)


def game() -> ToyGame:
    cdef ToyGame made = ToyGame()
    cdef GameOps *ops = made.open_ops(2, sizeof(Bluff), 2)
    ops.initial_state = initial_state
    ops.current_player = current_player
    ops.legal_actions = ops.search_actions = legal_actions
    ops.apply = apply
    ops.sample_chance = sample_chance
    ops.apply_chance = apply_chance
    ops.returns = returns
    ops.scores = returns
    ops.observe = observe
    ops.determinize = determinize
    ops.event_key = event_key
    made.check_ops()
    return made
