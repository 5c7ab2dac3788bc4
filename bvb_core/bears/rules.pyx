"""What an action does (rules, sections 3 and 4) and how a game ends. Actions are trusted to be legal."""

from libc.string cimport memset

from bvb_core.bears.battle cimport fight, provokable
from bvb_core.bears.monsters cimport *
from bvb_core.bears.observe cimport (
    exclude_types, locate, mask_joins_places, reveal_head, settle_played, show_head,
)


cdef void end_turn(const Ctx *ctx, State *s) noexcept nogil:
    s.used = 0
    s.pending = NOT_PENDING
    if s.final_left == 0:
        s.shown.armageddon_reveals = s.shown.n_reveals
        s.shown.armageddon_army = s.shown.n_army
        if ctx.armageddon and (s.n_army[0] or s.n_army[1] or s.n_army[2]):
            fight(ctx, s, 7)
        s.reason = FINISHED
    elif ctx.practice and s.turn == 3 * ctx.players:
        s.reason = PRACTICE
    elif s.turn == ctx.turn_limit:
        s.reason = TURN_LIMIT
    else:
        s.turn += 1
        s.current += 1
        if s.current == ctx.players:
            s.current = 0
        if s.final_left > 0:
            s.final_left -= 1


cdef inline void end_action(const Ctx *ctx, State *s) noexcept nogil:
    if s.used >= ctx.base_actions + s.tools[s.current]:
        end_turn(ctx, s)


cdef void meet_wild_provoke(const Ctx *ctx, State *s, int source) noexcept nogil:
    """A Wild Provoke was drawn or dived: its player has to name an army, or it is wasted."""
    cdef int i, types = 0
    if provokable(ctx, s, s.current):
        s.pending = source
        return
    discard_add(s, WILD_PROVOKE)
    for i in range(N_TYPES):
        if s.n_army[i]:
            types |= 1 << i
    if types and s.n_masks:
        for i in range(MAX_MASKS):
            if s.masks[i].used and s.masks[i].known != EVERYONE and s.masks[i].known >> s.current & 1:
                exclude_types(ctx, s, i, types)


cdef void draw(const Ctx *ctx, State *s, int pile) noexcept nogil:
    cdef int n = s.n_pile[pile] - 1
    cdef int kind = s.pile[pile][n]
    s.pile[pile][n] = 0
    s.n_pile[pile] = n
    if n == 0:
        s.piles_left -= 1
        if s.piles_left == 0:
            s.final_left = ctx.players
    s.shown.kind = kind
    s.used += 1
    if kind >= BABIES:
        army_push(s, kind, 1 << s.current)
    elif kind == WILD_PROVOKE:
        meet_wild_provoke(ctx, s, WILD_DRAWN)
    else:
        hand_add(s, s.current, kind)
    if not s.pending:
        end_action(ctx, s)


cdef void dive(const Ctx *ctx, State *s, int kind) noexcept nogil:
    discard_remove(s, kind)
    s.shown.kind = kind
    if kind >= BABIES:
        army_push(s, kind, EVERYONE)
    elif kind == WILD_PROVOKE:
        meet_wild_provoke(ctx, s, WILD_DIVED)
    else:
        hand_add(s, s.current, kind)
        if not s.untracked:
            locate(ctx, s, s.current, kind)
    if not s.pending:
        end_turn(ctx, s)


cdef void put_head(const Ctx *ctx, State *s, int kind, int slot, bint masked) noexcept nogil:
    """A head from the hand starts a monster, or revives a dead one."""
    cdef Monster *m
    cdef int i
    if slot == NEW:
        slot = new_monster(s, s.current)
    m = &s.monsters[slot]
    s.shown.monster[0] = m.number
    m.head = kind
    if masked:
        hand_remove(s, s.current, MASK)
        settle_played(s, s.current, MASK)
        i = 0
        while s.masks[i].used:
            i += 1
        s.masks[i] = Mask(slot, 1 << s.current, 0, 1)
        s.n_masks += 1
        m.mask = i + 1
        mask_joins_places(s, s.current, i)
    else:
        settle_played(s, s.current, kind)
        count_visible(ctx, s, kind, 1)
    refresh(ctx, s, slot)


cdef void after_swap(const Ctx *ctx, State *s, int slot) noexcept nogil:
    """A monster has received a head: its owner sees what a mask hides."""
    cdef Monster *m = &s.monsters[slot]
    cdef Mask *mask
    refresh(ctx, s, slot)
    if m.mask:
        mask = &s.masks[m.mask - 1]
        mask.slot = slot
        if not mask.known >> m.owner & 1:
            s.shown.reveals[s.shown.n_reveals] = Reveal(m.number, m.head, 1 << m.owner)
            s.shown.n_reveals += 1
            show_head(s, slot, 1 << m.owner)


cdef void swap_heads(const Ctx *ctx, State *s, int slot_a, int slot_b) noexcept nogil:
    cdef Monster *a = &s.monsters[slot_a]
    cdef Monster *b = &s.monsters[slot_b]
    a.head, b.head = b.head, a.head
    a.mask, b.mask = b.mask, a.mask
    after_swap(ctx, s, slot_a)
    after_swap(ctx, s, slot_b)
    if s.shown.n_reveals == 2 and a.number > b.number:
        s.shown.reveals[0], s.shown.reveals[1] = s.shown.reveals[1], s.shown.reveals[0]


cdef void dismember(const Ctx *ctx, State *s, int part, int slot) noexcept nogil:
    cdef Monster *m = &s.monsters[slot]
    s.shown.monster[0] = m.number
    if part == PART_HEAD:
        reveal_head(ctx, s, slot)
        discard_head(ctx, s, m)
        if m.torso == NONE:
            free_slot(s, slot)
            return
    elif part == PART_TORSO:
        discard_add(s, m.torso)
        m.torso = NONE
        if m.head == NONE:
            to_remains(s, slot)
            return
    else:
        discard_body(s, NONE, 1 << (part - PART_LEFT_ARM))
        m.parts &= ~(1 << (part - PART_LEFT_ARM))
    refresh(ctx, s, slot)


cdef void strip(State *s, int part, int place) noexcept nogil:
    """Dismember what has neither head nor torso."""
    cdef Remains *r = &s.remains[place]
    s.shown.monster[0] = r.number
    discard_body(s, NONE, 1 << (part - PART_LEFT_ARM))
    s.n_edges -= strip_edges(r.parts)
    r.parts &= ~(1 << (part - PART_LEFT_ARM))
    s.n_edges += strip_edges(r.parts)
    if not r.parts:
        s.remains_taken &= ~(<uint64_t>1 << place)
        memset(r, 0, sizeof(Remains))


cdef void lullaby(State *s, int t) noexcept nogil:
    cdef int n = s.n_army[t]
    cdef int kept = n // 2
    cdef int i
    for i in range(kept, n):
        s.shown.army[s.shown.n_army] = s.army[t][i]
        s.shown.n_army += 1
        discard_add(s, s.army[t][i])
        s.army[t][i] = 0
        s.army_known[t][i] = 0
    s.n_army[t] = kept
    if kept == 0 and s.fate[t] == WAITING:
        s.fate[t] = EATEN_BY - 1


cdef inline void play_from_hand(State *s, int kind) noexcept nogil:
    hand_remove(s, s.current, kind)
    settle_played(s, s.current, kind)


cdef inline void attach(const Ctx *ctx, State *s, int kind, int part, int slot) noexcept nogil:
    cdef Monster *m = &s.monsters[slot]
    play_from_hand(s, kind)
    s.shown.monster[0] = m.number
    if kind < ARM:
        m.torso = kind
    else:
        m.parts |= part
    refresh(ctx, s, slot)


cdef void apply_act(const Ctx *ctx, State *s, Act act) noexcept nogil:
    cdef int verb = act.verb
    s.shown.actor = s.current
    s.shown.kind = NONE
    s.shown.n_reveals = 0
    s.shown.n_army = 0
    if verb == V_DRAW:
        draw(ctx, s, act.a)
        return
    if verb == V_DIVE:
        dive(ctx, s, act.a)
        return
    if verb == V_PASS:
        end_turn(ctx, s)
        return
    if verb == V_PROVOKE:
        fight(ctx, s, 1 << act.a)
        end_turn(ctx, s)
        return
    if verb == V_WILD:
        fight(ctx, s, 1 << act.a)
        discard_add(s, WILD_PROVOKE)
        if s.pending == WILD_DIVED:
            end_turn(ctx, s)
        else:
            s.pending = NOT_PENDING
            end_action(ctx, s)
        return

    s.used += 1
    if verb == V_HEAD or verb == V_MASK:
        hand_remove(s, s.current, act.a)
        put_head(ctx, s, act.a, act.b, verb == V_MASK)
    elif verb == V_TORSO:
        attach(ctx, s, act.a, 0, act.b)
    elif verb == V_ARM:
        attach(ctx, s, ARM, LEFT_ARM << act.a, act.b)
    elif verb == V_LEGS:
        attach(ctx, s, LEGS, HAS_LEGS, act.b)
    elif verb == V_TOOL:
        attach(ctx, s, TOOL, LEFT_TOOL << act.a, act.b)
    elif verb == V_HAT:
        attach(ctx, s, HAT, HAS_HAT, act.b)
    elif verb == V_SWAP:
        play_from_hand(s, SWAP)
        s.shown.monster[0] = s.monsters[act.b].number
        s.shown.monster[1] = s.monsters[act.c].number
        swap_heads(ctx, s, act.b, act.c)
        discard_add(s, SWAP)
    elif verb == V_LULLABY:
        play_from_hand(s, LULLABY)
        lullaby(s, act.a)
        discard_add(s, LULLABY)
    else:
        play_from_hand(s, DISMEMBER)
        if verb == V_DISMEMBER:
            dismember(ctx, s, act.a, act.b)
        else:
            strip(s, act.a, act.b)
        discard_add(s, DISMEMBER)
    end_action(ctx, s)


cdef void returns_of(const Ctx *ctx, const State *s, double *out) noexcept nogil:
    """Victory shares: most points, then most Baby cards; players still tied share. They sum to 1, also in mid-game."""
    cdef int p, n = 0, key, best = -1
    for p in range(ctx.players):
        key = s.score[p] * 256 + s.babies[p]
        if key > best:
            best, n = key, 0
        if key == best:
            n += 1
    for p in range(ctx.players):
        out[p] = 1.0 / n if s.score[p] * 256 + s.babies[p] == best else 0.0
