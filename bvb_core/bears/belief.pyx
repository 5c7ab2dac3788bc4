"""The belief of an observer (rules, section 6): exactly uniform over assignments of physical cards to hidden positions.

Heads under hidden masks depend on each other, on located copies and on the room in hands, so they are drawn jointly, from
a table of all ways to fill the masks. A way that takes copies c_i counts once for each choice of physical copies, times
the number of ways to fill hands and piles after it: with F free cards left, o_p open places in the hand of p, and a fixed
number of pile places, that is F! / prod(o_p!) up to a constant. Given the heads, hands are a draw without replacement
from the free cards, and what is left over is shuffled into the piles.
"""

from libc.math cimport exp, lgamma
from libc.string cimport memchr, memcpy, memset

from bvb_core.bears.monsters cimport refresh
from bvb_core.rng cimport rng_below, rng_double


cdef void count_seen(const Ctx *ctx, const State *v, int *seen) noexcept nogil:
    """Cards that the observer sees, by code (UNKNOWN counts those hidden in armies and under masks)."""
    cdef int p, k, t, i, slot
    cdef uint64_t rest
    cdef const Monster *m
    memset(seen, 0, N_CODES * sizeof(int))
    if v.pending != NOT_PENDING:
        seen[WILD_PROVOKE] += 1
    for p in range(ctx.players):
        for k in range(N_HAND_KINDS):
            seen[k] += v.hand[p][k]
        for k in range(N_CODES - BABIES):
            seen[BABIES + k] += v.collected[p][k]
    for k in range(N_CODES):
        seen[k] += v.discard[k]
    for t in range(N_TYPES):
        for i in range(v.n_army[t]):
            seen[v.army[t][i]] += 1
    rest = v.slots
    while rest:
        slot = ctz(rest)
        rest &= rest - 1
        m = &v.monsters[slot]
        if m.head != NONE:
            seen[m.head] += 1
        if m.torso != NONE:
            seen[m.torso] += 1
        if m.mask:
            seen[MASK] += 1
        count_parts(m.parts, seen)
    rest = v.remains_taken
    while rest:
        count_parts(v.remains[ctz(rest)].parts, seen)
        rest &= rest - 1


cdef int gather_located(const Ctx *ctx, const View *view, Belief *b, int *seen) noexcept nogil:
    """Put the located copies that can only be in a hand there; list the others. Returns a BeliefProblem."""
    cdef State *base = &b.base
    cdef const Fact *fact
    cdef Located *group
    cdef int p, k, i, j, masks
    for p in range(ctx.players):
        for k in range(N_HAND_KINDS):
            if base.located[p][k]:
                seen[k] += base.located[p][k]
                b.n_open[p] -= base.located[p][k]
                base.hand[p][k] += base.located[p][k]
                base.hand_kinds[p] |= <uint32_t>1 << k
    for i in range(base.n_facts):
        fact = &base.facts[i]
        seen[fact.kind] += 1
        masks = 0
        for j in range(b.n_masks):
            if fact.places[b.observer] >> (1 + b.masks[j]) & 1:
                masks |= 1 << j
        if not masks:
            b.n_open[fact.owner] -= 1
            base.hand[fact.owner][fact.kind] += 1
            base.hand_kinds[fact.owner] |= <uint32_t>1 << fact.kind
            continue
        for j in range(b.n_located):
            group = &b.located[j]
            if group.owner == fact.owner and group.kind == fact.kind and group.masks == masks:
                group.count += 1
                break
        else:
            b.located[b.n_located] = Located(fact.owner, fact.kind, masks, 1)
            b.n_located += 1
    for p in range(ctx.players):
        if b.n_open[p] < 0:
            b.where = p
            return HAND_TOO_SMALL
    return CONSISTENT


cdef double fill_weight(const Ctx *ctx, Belief *b, int n_free, const int *used) noexcept nogil:
    """Ways to fill hands and piles, up to a constant: `used` of each located group lie under masks, n_free cards are left."""
    cdef int open_places[MAX_PLAYERS]
    cdef int p, j
    cdef double log_ways = lgamma(n_free + 1)
    for p in range(ctx.players):
        open_places[p] = b.n_open[p]
    for j in range(b.n_located):
        open_places[b.located[j].owner] -= b.located[j].count - used[j]
    for p in range(ctx.players):
        if open_places[p] < 0:
            return 0.0
        log_ways -= lgamma(open_places[p] + 1)
    # The same factor for every choice keeps the weights in range.
    if b.n_choices == 0:
        b.scale = log_ways
    return exp(log_ways - b.scale)


cdef int add_choices(
    const Ctx *ctx, Belief *b, int i, Choice *partial, double ways, int n_free, int *used, int *free_heads
) noexcept nogil:
    """List all ways to fill the hidden masks from the i-th on, with their weights. Returns a BeliefProblem."""
    cdef int k, j, problem
    cdef int excluded
    cdef double weight
    if i == b.n_masks:
        weight = ways * fill_weight(ctx, b, n_free, used)
        if weight > 0:
            if b.n_choices == MAX_CHOICES:
                return TOO_MANY_CHOICES
            b.total += weight
            partial.cumulative = b.total
            b.choices[b.n_choices] = partial[0]
            b.n_choices += 1
        return CONSISTENT
    excluded = b.base.masks[b.masks[i]].excluded
    for k in range(ctx.n_heads):
        if free_heads[k] and not ctx.types[k] & excluded:
            partial.head[i] = k
            free_heads[k] -= 1
            problem = add_choices(
                ctx, b, i + 1, partial, ways * (free_heads[k] + 1), n_free - 1, used, free_heads)
            free_heads[k] += 1
            if problem:
                return problem
    for j in range(b.n_located):
        if b.located[j].masks >> i & 1 and used[j] < b.located[j].count and not ctx.types[b.located[j].kind] & excluded:
            partial.head[i] = N_CODES + j
            used[j] += 1
            problem = add_choices(
                ctx, b, i + 1, partial, ways * (b.located[j].count - used[j] + 1), n_free, used, free_heads)
            used[j] -= 1
            if problem:
                return problem
    return CONSISTENT


cdef int prepare_belief(const Ctx *ctx, const View *view, Belief *b) noexcept nogil:
    """All that depends on the view alone, once per search. Returns a BeliefProblem, and its kind, type or seat in `where`."""
    cdef int seen[N_CODES]
    cdef int free_heads[8]
    cdef int used[MAX_HEAD_CARDS]
    cdef int p, k, t, i, unknown, problem, _
    cdef int hidden = 0
    cdef Choice partial
    memset(b, 0, sizeof(Belief) - sizeof(b.choices))
    b.base = view.state
    b.observer = view.observer
    count_seen(ctx, &view.state, seen)
    for i in range(MAX_MASKS):
        if b.base.masks[i].used and not b.base.masks[i].known >> b.observer & 1:
            b.masks[b.n_masks] = i
            b.n_masks += 1
    for p in range(ctx.players):
        if p != b.observer:
            b.n_open[p] = b.base.n_hand[p]
            hidden += b.n_open[p]
    hidden += b.n_masks
    problem = gather_located(ctx, view, b, seen)
    if problem:
        return problem
    for i in range(ctx.n_kinds):
        k = ctx.code[i]
        if seen[k] > ctx.count[k]:
            b.where = k
            return TOO_MANY_CARDS
        for _ in range(ctx.count[k] - seen[k]):
            if k >= BABIES:
                t = baby_type(k)
                b.unseen[t][b.n_unseen[t]] = k
                b.n_unseen[t] += 1
            elif k == WILD_PROVOKE:
                b.pile_only[b.n_pile_only] = k
                b.n_pile_only += 1
            else:
                b.free[b.n_free] = k
                b.n_free += 1
    for i in range(N_PILES):
        hidden += b.base.n_pile[i]
    unknown = b.n_free + b.n_pile_only
    for i in range(b.n_located):
        unknown += b.located[i].count
    for p in range(ctx.players):
        if p != b.observer:
            unknown += b.base.n_hand[p] - b.n_open[p]
    for t in range(N_TYPES):
        unknown += b.n_unseen[t]
        k = 0
        for i in range(b.base.n_army[t]):
            k += b.base.army[t][i] == UNKNOWN
        hidden += k
        if k > b.n_unseen[t]:
            b.where = t
            return ARMY_TOO_LARGE
    if unknown != hidden:
        b.where = unknown - hidden
        return CARDS_DO_NOT_ADD_UP
    # Babies and Wild Provokes that must lie in piles need room there.
    k = b.n_pile_only
    for t in range(N_TYPES):
        k += b.n_unseen[t]
        for i in range(b.base.n_army[t]):
            k -= b.base.army[t][i] == UNKNOWN
    for i in range(N_PILES):
        k -= b.base.n_pile[i]
    if k > 0:
        return NO_ASSIGNMENT
    for k in range(8):
        free_heads[k] = ctx.count[k] - seen[k] if k < ctx.n_heads else 0
    memset(used, 0, sizeof(used))
    memset(&partial, 0, sizeof(partial))
    problem = add_choices(ctx, b, 0, &partial, 1.0, b.n_free, used, free_heads)
    if problem:
        return problem
    return CONSISTENT if b.n_choices else NO_ASSIGNMENT


cdef inline int draw_card(Rng *rng, uint8_t *cards, int n) noexcept nogil:
    """Take a random one of n cards; the last takes its place."""
    cdef int j = rng_below(rng, n)
    cdef int kind = cards[j]
    cards[j] = cards[n - 1]
    return kind


cdef void determinize(const Ctx *ctx, const Belief *b, Rng *rng, State *s) noexcept nogil:
    """One draw from the belief: a state that the observer cannot tell from the true one."""
    cdef uint8_t pool[N_PILES * PILE_CAPACITY]
    cdef uint8_t unseen[ARMY_CAPACITY]
    cdef int n_open[MAX_PLAYERS]
    cdef int used[MAX_HEAD_CARDS]
    cdef int n = b.n_free
    cdef int p, t, i, j, k, low, high, _
    cdef double target
    cdef const Choice *choice
    cdef const Located *group
    cdef uint8_t *found
    memcpy(s, &b.base, sizeof(State))
    memcpy(pool, b.free, n)
    memcpy(n_open, b.n_open, sizeof(n_open))
    if b.n_masks or b.n_located:
        memset(used, 0, sizeof(used))
        target = rng_double(rng) * b.total
        low, high = 0, b.n_choices - 1
        while low < high:
            i = (low + high) // 2
            if b.choices[i].cumulative > target:
                high = i
            else:
                low = i + 1
        choice = &b.choices[low]
        for i in range(b.n_masks):
            k = choice.head[i]
            if k >= N_CODES:
                used[k - N_CODES] += 1
                k = b.located[k - N_CODES].kind
            else:
                n -= 1
                found = <uint8_t *>memchr(pool, k, n + 1)
                found[0] = pool[n]
            j = s.masks[b.masks[i]].slot
            s.monsters[j].head = k
            refresh(ctx, s, j)
        for j in range(b.n_located):
            group = &b.located[j]
            for _ in range(group.count - used[j]):
                s.hand[group.owner][group.kind] += 1
                s.hand_kinds[group.owner] |= <uint32_t>1 << group.kind
                n_open[group.owner] -= 1
    for p in range(ctx.players):
        for _ in range(n_open[p]):
            k = draw_card(rng, pool, n)
            n -= 1
            s.hand[p][k] += 1
            s.hand_kinds[p] |= <uint32_t>1 << k
    memcpy(&pool[n], b.pile_only, b.n_pile_only)
    n += b.n_pile_only
    for t in range(N_TYPES):
        j = b.n_unseen[t]
        memcpy(unseen, b.unseen[t], j)
        for i in range(s.n_army[t]):
            if s.army[t][i] == UNKNOWN:
                s.army[t][i] = draw_card(rng, unseen, j)
                j -= 1
        memcpy(&pool[n], unseen, j)
        n += j
    for t in range(N_PILES):
        for i in range(s.n_pile[t]):
            s.pile[t][i] = draw_card(rng, pool, n)
            n -= 1
