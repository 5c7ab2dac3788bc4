# cython: annotation_typing=False
"""Information set Monte Carlo tree search over any game that meets bvb_core.game (Cowling, Powley, Whitehouse 2012:
"Information Set Monte Carlo Tree Search": SO-ISMCTS, section IV-B, and MO-ISMCTS, section IV-E).

Each iteration draws a fresh determinization from the root observer's belief and descends trees of information sets. An
action is compared with those legal in the same determinization only: its exploration term counts the visits in which it was
available. Every seat maximises its own return. The leaf is played to the end by uniformly random legal actions.

With ONE_TREE all moves stand in one tree, and below an action it branches by what the searcher is shown of its outcome. Else
every seat has a tree of its own moves alone, which all are descended together: below an action it branches by all that its
owner is shown until the next own move. What others do unseen is then one and the same to the owner, who cannot answer what it
has not seen. `Observers` says through whose eyes the owners of the trees look.
"""

from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from typing import NamedTuple

from ai.tree cimport (
    NIL, Copying, Edge, Outcome, Tree, action_of, add_edge, add_return, bytes_per_iteration, copy_below, copy_outcomes, edge_code,
    find_node, find_or_add_node, node_visits, outcome_of, seat_of, short_key, tree_alloc, tree_free,
)
from bvb_core.game cimport (
    ABSENT, CHANCE_NODE, MAX_OUTCOMES, MAX_SEATS, SPECTATOR, TERMINAL_NODE, Game, GameOps, Observation, State, seed_bits,
)
from bvb_core.rng cimport DETERMINIZATION, SEARCH, Rng, rng_below, rng_mix, rng_seed


cdef extern from "time.h" nogil:
    ctypedef int clockid_t
    struct timespec:
        long tv_sec
        long tv_nsec
    clockid_t CLOCK_MONOTONIC
    int clock_gettime(clockid_t, timespec *)


cdef extern from *:
    """
    #ifndef BVB_DEBUG
    #define BVB_DEBUG 0
    #endif
    """
    int BVB_DEBUG

cdef enum:
    MAX_DEPTH = 256        # actions from the root; below them the game is played out
    PV_TRIES = 8           # determinizations that are tried to find a variation
    MAX_LINE = 32          # actions of a variation
    LOGS = 4096            # logarithms that are kept

# Seats that choose without chance can fall into step, each move met by the same answer for ever.
cdef double TIE = 0.001

# Through whose eyes the trees are seen.
cpdef enum Observers:
    ONE_TREE = 0           # one tree for all seats, through the searcher's eyes
    SEARCHER = 1           # a tree for each seat, all through the searcher's eyes
    PUBLIC = 2             # the others' trees through the eyes of a spectator
    EACH_SEAT = 3          # each tree through its owner's eyes

cdef double[LOGS] logs
for _n in range(1, LOGS):
    logs[_n] = log(_n)


cdef inline double log_of(uint32_t n) noexcept nogil:
    return logs[n] if n < LOGS else log(n)


cdef inline int64_t now_ns() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return <int64_t>t.tv_sec * 1000000000 + t.tv_nsec


cdef struct RootSums:
    # Over all iterations, by seat.
    double returns[MAX_SEATS]
    double scores[MAX_SEATS]
    double squared_scores[MAX_SEATS]
    int64_t outcomes[MAX_OUTCOMES][MAX_SEATS + 1]     # how often nobody and each seat won it


cdef struct Line:
    int32_t length
    int32_t actions[MAX_LINE]
    uint32_t visits[MAX_LINE]


class RootMove(NamedTuple):
    """A move of the root. Sums are by seat, over the iterations of this search, without what it has adopted."""

    action_id: int
    visits: int
    availability: int
    mean: float            # return of the seat that moves, over all visits
    new_visits: int        # in this search
    returns: list[float]
    squares: list[float]
    scores: list[float]


cdef class StopToken:
    """Ends searches from any thread: every search that was given this token returns with its result so far."""

    cdef volatile int stopped

    def stop(self) -> None:
        """End the searches; those that start later end after their first iteration."""
        self.stopped = 1

    @property
    def is_stopped(self) -> bool:
        return self.stopped != 0


cdef struct Cursor:
    # Where one iteration stands in the tree of a seat.
    uint32_t edge          # the owner's last move
    uint64_t seen          # what the owner was shown since, 0 when nothing


cdef class Search:
    """Trees over one observation, grown by `run` until its budget is used up. Not to be run by two threads at once."""

    cdef readonly Observation observation
    cdef readonly int64_t iterations
    cdef readonly int64_t moves            # actions of playouts
    cdef readonly str stop_reason          # "iterations", "time" or "stopped", None before the first run
    cdef readonly int64_t adopted          # visits of the root that were taken over from another search
    cdef readonly int observers            # one of Observers
    cdef readonly State world              # None: determinizations
    cdef const GameOps *ops
    cdef const void *ctx
    cdef const void *belief
    cdef int32_t observer
    cdef Tree tree
    cdef int32_t trees                     # number of trees; edge 1 + i stands above the root of tree i
    cdef int32_t[MAX_SEATS] tree_of        # by seat
    cdef int32_t[MAX_SEATS] eyes           # by tree, who looks
    cdef uint32_t *root                    # where the searched moves begin
    cdef double exploration
    cdef double tie                        # values that differ by no more are equal: chance decides
    cdef Rng rng
    cdef void *state
    cdef int32_t *actions
    cdef uint64_t *marks                   # by action: `stamp` when it is legal, one more when it has an edge
    cdef uint64_t stamp
    cdef uint8_t *excluded                 # by action, what the root must not try
    cdef int64_t *root_visits              # by action, iterations that began with it
    cdef double *root_returns              # [action][seat], sums of what the iterations below the root brought
    cdef double *root_squares              # [action][seat], of squared returns
    cdef double *root_scores               # [action][seat]
    cdef RootSums sums

    def __cinit__(self, Observation observation, seed: int, stream: int = 0, memory: int = 64 << 20,
                  exploration: float = 0.7, only: list[int] | None = None, observers: int = ONE_TREE,
                  State world = None):
        """`stream` separates searches that run side by side from one seed; `memory` is in bytes, see memory_for.

        `only`: ids of the search actions that may be tried at the root, None for all. `world`: the one state to search, all
        of it in sight, in place of determinizations: UCT (Kocsis and Szepesvari 2006).
        """
        cdef Game game = observation.game
        cdef int32_t seat
        cdef size_t per_action
        if observation.current_player < 0:
            raise ValueError("nobody is to move")
        if not ONE_TREE <= observers <= EACH_SEAT:
            raise ValueError(f"observers must be {ONE_TREE:d} to {EACH_SEAT:d}, not {observers}")
        if world is not None and world.game is not game:
            raise ValueError("world: a state of another game")
        self.observation = observation
        self.world = world
        self.ops = &game.ops
        self.ctx = game.ctx
        self.belief = observation.prepared()
        self.observer = SPECTATOR if observation.seat is None else observation.seat
        self.exploration = exploration
        self.tie = 0 if observers == ONE_TREE else TIE
        self.observers = observers
        self.trees = 1 if observers == ONE_TREE else self.ops.num_players
        for seat in range(self.ops.num_players):
            self.tree_of[seat] = 0 if observers == ONE_TREE else seat
        for seat in range(self.trees):
            self.eyes[seat] = self.observer
            if observers == EACH_SEAT or observers == PUBLIC and seat != self.observer:
                self.eyes[seat] = seat if observers == EACH_SEAT else SPECTATOR
        rng_seed(&self.rng, seed_bits(seed), SEARCH, stream)
        self.state = calloc(1, self.ops.state_size)
        self.actions = <int32_t *>calloc(self.ops.max_legal_actions, sizeof(int32_t))
        self.marks = <uint64_t *>calloc(self.ops.num_distinct_actions, sizeof(uint64_t))
        self.excluded = <uint8_t *>calloc(self.ops.num_distinct_actions, 1)
        per_action = self.ops.num_distinct_actions * self.ops.num_players
        self.root_visits = <int64_t *>calloc(self.ops.num_distinct_actions, sizeof(int64_t))
        self.root_returns = <double *>calloc(per_action, sizeof(double))
        self.root_squares = <double *>calloc(per_action, sizeof(double))
        self.root_scores = <double *>calloc(per_action, sizeof(double))
        if (
            self.state == NULL or self.actions == NULL or self.marks == NULL or self.excluded == NULL
            or self.root_visits == NULL or self.root_returns == NULL or self.root_squares == NULL
            or self.root_scores == NULL
            or not tree_alloc(&self.tree, memory, self.trees)
        ):
            raise MemoryError("not enough memory for a search tree of this size")
        self.root = find_or_add_node(&self.tree, 1 + self.tree_of[<int32_t>observation.current_player], short_key(0))
        if only is not None:
            possible = set(observation.any_state().search_action_ids())
            if not only or not possible.issuperset(only):
                raise ValueError("only: must hold search actions, at least one")
            memset(self.excluded, 1, self.ops.num_distinct_actions)
            for action in only:
                self.excluded[<int32_t>action] = 0

    def __dealloc__(self):
        tree_free(&self.tree)
        free(self.state)
        free(self.actions)
        free(self.marks)
        free(self.excluded)
        free(self.root_visits)
        free(self.root_returns)
        free(self.root_squares)
        free(self.root_scores)

    def adopt(self, Search old, keys: list[int]) -> bool:
        """Before the first run: take over what another search of the same observer has found below a line.

        `keys` are what the line showed the observer (State.event_key), action by action; without any, all is taken. Of
        several information sets that look alike to the observer the most visited one is taken. Of the trees of other seats
        nothing is taken below a line. False, and nothing is taken, when the line is not in the tree. `root_moves` then counts
        visits of both, `root_sums` only what is new.
        """
        cdef int32_t mover = self.tree_of[<int32_t>self.observation.current_player], i
        cdef uint32_t *node
        cdef uint32_t edge
        cdef Copying *queue
        cdef size_t known
        cdef int32_t others = 0 if keys else self.trees
        if any(not isinstance(key, int) or not 0 <= key < 1 << 64 for key in keys):
            raise ValueError("keys are numbers of 64 bits, from State.event_key")
        if self.iterations or self.adopted:
            raise ValueError("a search adopts before its first run, and once")
        if (
            old.observation.game is not self.observation.game or old.observer != self.observer
            or old.observers != self.observers
        ):
            raise ValueError("only a search of the same observer and kind in the same game can be adopted")
        node = old.node_after(mover, keys)
        if node == NULL or node[0] == NIL:
            return False
        possible = set(self.observation.any_state().search_action_ids())
        edge = node[0]
        while edge != NIL:
            if action_of(old.tree.edges[edge].code) not in possible or self.excluded[action_of(old.tree.edges[edge].code)]:
                return False
            edge = old.tree.edges[edge].next
        queue = <Copying *>malloc((old.tree.n_edges + old.tree.n_outcomes + 1) * sizeof(Copying))
        if queue == NULL:
            raise MemoryError("not enough memory to take over a tree")
        with nogil:
            queue[0] = Copying(node[0], self.root)
            copy_below(&old.tree, &self.tree, queue, 1)
            for i in range(others):
                if i != mover:
                    known = copy_outcomes(&old.tree, 1 + i, &self.tree, 1 + i, queue)
                    copy_below(&old.tree, &self.tree, queue, known)
        free(queue)
        self.adopted = node_visits(&self.tree, self.root[0])
        return True

    cdef uint32_t *node_after(self, int32_t tree, list keys) noexcept:
        """The information set that the observer is in at the end of a line; NULL when it is not in the tree."""
        cdef uint32_t *node = self.root if tree == self.tree_of[<int32_t>self.observation.current_player] else NULL
        cdef uint32_t *found
        cdef uint32_t *best
        cdef uint32_t edge
        cdef uint64_t seen = 0, key
        if keys and self.eyes[tree] != self.observer:
            return NULL
        for key in keys:
            seen = rng_mix(seen ^ key)
            best = NULL
            edge = NIL
            if node == NULL:     # the owner has not moved yet
                best = find_node(&self.tree, 1 + tree, short_key(seen))
            else:
                edge = node[0]
            while edge != NIL:
                found = find_node(&self.tree, edge, short_key(seen))
                if found != NULL and (
                    best == NULL or node_visits(&self.tree, found[0]) > node_visits(&self.tree, best[0])
                ):
                    best = found
                edge = self.tree.edges[edge].next
            if best != NULL:
                node = best
                seen = 0
            elif self.observers == ONE_TREE:
                return NULL
        return node if seen == 0 else NULL

    def run(self, iterations: int | None, time_ms: float | None, StopToken stop = None) -> None:
        """Grow the tree by a number of iterations, or for a time, whichever ends first; at least by one iteration."""
        cdef int64_t limit = self.iterations + iterations if iterations is not None else <int64_t>1 << 62
        cdef int64_t deadline = now_ns() + <int64_t>(time_ms * 1e6) if time_ms is not None else <int64_t>1 << 62
        cdef volatile int never = 0
        cdef volatile int *stopped = &never if stop is None else &stop.stopped
        cdef int reason
        with nogil:
            while True:
                self.iterate()
                self.iterations += 1
                if self.iterations >= limit:
                    reason = 0
                    break
                if stopped[0]:
                    reason = 2
                    break
                if now_ns() >= deadline:
                    reason = 1
                    break
        self.stop_reason = ("iterations", "time", "stopped")[reason]

    cdef void iterate(self) noexcept nogil:
        cdef const GameOps *ops = self.ops
        cdef Tree *tree = &self.tree
        cdef uint32_t path[MAX_DEPTH]
        cdef Cursor[MAX_SEATS] at
        cdef double values[MAX_SEATS]
        cdef int32_t winners[MAX_OUTCOMES]
        cdef uint32_t edge
        cdef uint32_t *node
        cdef int depth = 0, seat, i
        cdef int32_t action, first_action = 0, player
        cdef bint added = False
        self.draw_world(&self.rng)
        if ops.num_outcomes:
            ops.follow(self.ctx, self.state)
        self.set_out(at)
        while depth < MAX_DEPTH:
            player = ops.current_player(self.ctx, self.state)
            if player == TERMINAL_NODE:
                break
            i = self.tree_of[player]
            node = find_or_add_node(tree, at[i].edge, short_key(at[i].seen))
            if node == NULL:
                break
            edge = self.select(node, player, &action, &added)
            if depth == 0:
                first_action = action
            ops.apply(self.ctx, self.state, action)
            if edge == NIL:
                break
            path[depth] = edge
            depth += 1
            if added:
                break
            at[i] = Cursor(edge, 0)
            self.look(at)
        self.moves += ops.playout(self.ctx, self.state, &self.rng)
        ops.returns(self.ctx, self.state, values)
        for i in range(depth):
            add_return(&tree.edges[path[i]], values[seat_of(tree.edges[path[i]].code)])
        if depth:
            self.root_visits[first_action] += 1
        for seat in range(ops.num_players):
            self.sums.returns[seat] += values[seat]
            if depth:
                self.root_returns[first_action * ops.num_players + seat] += values[seat]
                self.root_squares[first_action * ops.num_players + seat] += values[seat] * values[seat]
        ops.scores(self.ctx, self.state, values)
        for seat in range(ops.num_players):
            self.sums.scores[seat] += values[seat]
            self.sums.squared_scores[seat] += values[seat] * values[seat]
            if depth:
                self.root_scores[first_action * ops.num_players + seat] += values[seat]
        if ops.num_outcomes:
            ops.outcomes(self.ctx, self.state, winners)
            for i in range(ops.num_outcomes):
                if winners[i] != ABSENT:
                    self.sums.outcomes[i][winners[i] + 1] += 1

    cdef void draw_world(self, Rng *rng) noexcept nogil:
        if self.world is None:
            self.ops.determinize(self.ctx, self.belief, rng, self.state)
        else:
            memcpy(self.state, self.world.data, self.ops.state_size)

    cdef void set_out(self, Cursor *at) noexcept nogil:
        """To the roots of all trees."""
        cdef int32_t i
        for i in range(self.trees):
            at[i] = Cursor(1 + i, 0)

    cdef void look(self, Cursor *at) noexcept nogil:
        """Show the owners of the trees the last action, and the chance that followed it, which is played here."""
        cdef uint64_t keys[MAX_SEATS]
        cdef uint64_t key
        cdef int32_t i, outcome
        for i in range(self.trees):
            if i and self.eyes[i] == self.eyes[i - 1]:
                keys[i] = keys[i - 1]
            else:
                keys[i] = self.ops.event_key(self.ctx, self.state, self.eyes[i])
        while self.ops.current_player(self.ctx, self.state) == CHANCE_NODE:
            outcome = self.ops.sample_chance(self.ctx, self.state, &self.rng)
            self.ops.apply_chance(self.ctx, self.state, outcome)
            for i in range(self.trees):
                key = <uint64_t>outcome + 1
                if self.world is None:
                    key = self.ops.event_key(self.ctx, self.state, self.eyes[i])
                keys[i] = rng_mix(keys[i] ^ key)
        for i in range(self.trees):
            at[i].seen = rng_mix(at[i].seen ^ keys[i])

    cdef uint32_t select(self, uint32_t *node, int32_t player, int32_t *action, bint *added) noexcept nogil:
        """Choose an action and its edge: a new one while an available action has none, else the best by UCB1.

        Counts availability. When the tree is full no edge is added, and NIL is returned with a random action at a node
        without any.
        """
        cdef Tree *tree = &self.tree
        cdef int32_t n = self.ops.search_actions(self.ctx, self.state, self.actions)
        cdef uint32_t i, best = NIL
        cdef Edge *edge
        cdef int32_t untried = 0, k, a
        cdef uint32_t equal = 0
        cdef double value, best_value = -1.0
        if node == self.root:
            n = self.leave_out(n)
        self.stamp += 2
        for k in range(n):
            self.marks[self.actions[k]] = self.stamp
        untried = n
        i = node[0]
        while i != NIL:
            edge = &tree.edges[i]
            a = action_of(edge.code)
            if self.marks[a] == self.stamp and seat_of(edge.code) == player:
                self.marks[a] = self.stamp + 1
                edge.available += 1
                untried -= 1
            i = edge.next
        if untried and (untried == n or tree.room >= sizeof(Edge)):
            untried = rng_below(&self.rng, untried)
            for k in range(n):
                action[0] = self.actions[k]
                if self.marks[action[0]] == self.stamp:
                    untried -= 1
                    if untried < 0:
                        break
            best = add_edge(tree, node, edge_code(action[0], player))
            if best != NIL:
                tree.edges[best].available = 1
                added[0] = True
            return best
        i = node[0]
        while i != NIL:
            edge = &tree.edges[i]
            if self.marks[action_of(edge.code)] == self.stamp + 1 and seat_of(edge.code) == player:
                value = edge.mean + self.exploration * sqrt(log_of(edge.available) / edge.visits)
                if value > best_value + self.tie:
                    best, best_value, equal = i, value, 1
                elif value >= best_value - self.tie:
                    equal += 1
                    if rng_below(&self.rng, equal) == 0:
                        best = i
                    if value > best_value:
                        best_value = value
            i = edge.next
        action[0] = action_of(tree.edges[best].code)
        return best

    cdef int32_t leave_out(self, int32_t n) noexcept nogil:
        """Drop what is excluded from the listed actions; returns how many are left."""
        cdef int32_t allowed = 0, k
        for k in range(n):
            if not self.excluded[self.actions[k]]:
                self.actions[allowed] = self.actions[k]
                allowed += 1
        return allowed

    def root_moves(self) -> list[RootMove]:
        """Every move looked at."""
        cdef uint32_t i = self.root[0]
        cdef Edge *edge
        cdef int32_t first, seats = self.ops.num_players, k
        result = []
        while i != NIL:
            edge = &self.tree.edges[i]
            first = action_of(edge.code) * seats
            result.append(RootMove(
                action_of(edge.code), edge.visits, edge.available, edge.mean, self.root_visits[action_of(edge.code)],
                [self.root_returns[first + k] for k in range(seats)],
                [self.root_squares[first + k] for k in range(seats)],
                [self.root_scores[first + k] for k in range(seats)],
            ))
            i = edge.next
        return result

    def root_sums(self) -> tuple[list[float], list[float], list[float], list[list[int]]]:
        """Over all iterations: sums of returns, of scores and of squared scores by seat; and for every prize of the game
        how often nobody and each seat won it, all 0 when it was not there."""
        cdef int seats = self.ops.num_players, i, k
        return (
            [self.sums.returns[i] for i in range(seats)],
            [self.sums.scores[i] for i in range(seats)],
            [self.sums.squared_scores[i] for i in range(seats)],
            [[self.sums.outcomes[k][i] for i in range(seats + 1)] for k in range(self.ops.num_outcomes)],
        )

    def edges(self) -> list[tuple[int, int, int, int, int, int, int]]:
        """All trees: (information set, its visits, action id, visits, availability, visits of the information sets below,
        seat) of every edge. Number 1 is the information set of the root."""
        cdef uint32_t i
        cdef Edge *edge
        result = []
        nodes = [self.root[0]]
        for i in range(1, self.trees + 1):
            nodes += [first for first in self.first_edges(i) if first != self.root[0]]
        number = 0
        while number < len(nodes):
            i = nodes[number]
            number += 1
            visits = node_visits(&self.tree, i)
            while i != NIL:
                edge = &self.tree.edges[i]
                below = self.first_edges(i)
                nodes += below
                result.append((
                    number, visits, action_of(edge.code), edge.visits, edge.available,
                    sum([node_visits(&self.tree, first) for first in below]), seat_of(edge.code),
                ))
                i = edge.next
        return result

    cdef list first_edges(self, uint32_t edge):
        """Of the information sets below an edge, those without edges left out."""
        cdef uint32_t i
        result = [self.tree.edges[edge].first_edge]
        outcomes = [self.tree.edges[edge].outcomes]
        while outcomes:
            i = outcomes.pop()
            if i != NIL:
                result.append(outcome_of(&self.tree, i).first_edge)
                outcomes += [outcome_of(&self.tree, i).below[0], outcome_of(&self.tree, i).below[1]]
        return [first for first in result if first != NIL]

    @property
    def size_bytes(self) -> int:
        """All memory of the search, as far as it is in use."""
        per_action = sizeof(uint64_t) + sizeof(int64_t) + 1 + 3 * self.ops.num_players * sizeof(double)
        return self.tree_size[1] + self.ops.num_distinct_actions * per_action + self.ops.state_size + self.ops.belief_size

    @property
    def tree_size(self) -> tuple[int, int]:
        """Number of edges, and of bytes that they and their outcomes take."""
        edges = self.tree.n_edges - 1 - self.trees
        return edges, edges * sizeof(Edge) + self.tree.n_outcomes * sizeof(Outcome)

    def variation(self, action_id: int, length: int) -> list[tuple[str, int]]:
        """The most visited line that begins with a move of the root: notation and visits of at most `length` actions.

        Every seat plays its most visited action in a determinization; of those tried the one with the most visits is told. A
        line ends at a chance node.
        """
        cdef Line line, best
        cdef int attempt, best_attempt = 0, i
        best.length = 0
        for attempt in range(PV_TRIES):
            self.play_line(action_id, min(length, MAX_LINE), attempt, &line)
            for i in range(line.length):
                if i == best.length or line.visits[i] != best.visits[i]:
                    if i == best.length or line.visits[i] > best.visits[i]:
                        best, best_attempt = line, attempt
                    break
        return self.words(&best, best_attempt)

    cdef void play_line(self, int32_t action, int32_t length, int attempt, Line *line) noexcept nogil:
        """The line of one determinization."""
        cdef Cursor[MAX_SEATS] at
        cdef Rng rng
        cdef uint32_t i, best
        cdef uint32_t *node
        cdef Edge *edge
        cdef int32_t player, k, n
        rng_seed(&rng, attempt, DETERMINIZATION, 0)  # as Observation.determinize does
        self.draw_world(&rng)
        self.set_out(at)
        line.length = 0
        while line.length < length:
            player = self.ops.current_player(self.ctx, self.state)
            if player < 0:
                return
            k = self.tree_of[player]
            node = find_node(&self.tree, at[k].edge, short_key(at[k].seen))
            if node == NULL:
                return
            n = self.ops.search_actions(self.ctx, self.state, self.actions)
            self.stamp += 2
            for i in range(<uint32_t>n):
                self.marks[self.actions[i]] = self.stamp
            best = NIL
            i = node[0]
            while i != NIL:
                edge = &self.tree.edges[i]
                if (
                    self.marks[action_of(edge.code)] == self.stamp and seat_of(edge.code) == player
                    and (line.length or action_of(edge.code) == action)
                    and (best == NIL or edge.visits > self.tree.edges[best].visits)
                ):
                    best = i
                i = edge.next
            if best == NIL:
                return
            line.actions[line.length] = action_of(self.tree.edges[best].code)
            line.visits[line.length] = self.tree.edges[best].visits
            line.length += 1
            self.ops.apply(self.ctx, self.state, action_of(self.tree.edges[best].code))
            if self.ops.current_player(self.ctx, self.state) == CHANCE_NODE:
                return
            at[k] = Cursor(best, 0)
            self.look(at)

    cdef list words(self, const Line *line, int attempt):
        """A line in notation as the observer would see it played, with its visits."""
        cdef State state = self.observation.determinize(attempt) if self.world is None else self.world.clone()
        cdef int32_t i
        result = []
        for i in range(line.length):
            result.append((state.game.seen_text(state, line.actions[i], self.observation.seat), line.visits[i]))
            self.ops.apply(self.ctx, state.data, line.actions[i])
        return result


def is_debug_build() -> bool:
    """Whether this was compiled with bounds checks and sanitizers."""
    return BVB_DEBUG != 0


def memory_for(iterations: int | None, limit: int) -> int:
    """Bytes for a tree of so many iterations, and not more than the limit in bytes."""
    return limit if iterations is None else min(limit, iterations * bytes_per_iteration() + (MAX_SEATS + 1) * sizeof(Edge))
