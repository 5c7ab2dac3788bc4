# cython: annotation_typing=False
"""Single-observer information set Monte Carlo tree search (Cowling, Powley, Whitehouse 2012: "Information Set Monte Carlo
Tree Search", section IV-B), over any game that meets bvb_core.game.

Each iteration draws a fresh determinization from the root observer's belief and descends one tree of the observer's
information sets. Below an action the tree branches by what the observer is shown of its outcome. An action is compared with
those legal in the same determinization only: its exploration term counts the visits in which it was available. Every seat
maximises its own return. The leaf is played to the end by uniformly random legal actions.
"""

from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from ai.tree cimport (
    NIL, ROOT, Edge, Tree, add_edge, bytes_per_entry, copy_subtree, find_or_add_node, tree_alloc, tree_free,
)
from bvb_core.game cimport (
    ABSENT, CHANCE_NODE, MAX_OUTCOMES, MAX_SEATS, SPECTATOR, TERMINAL_NODE, Game, GameOps, Observation, State, seed_bits,
)
from bvb_core.rng cimport SEARCH, Rng, rng_below, rng_mix, rng_seed


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
    MAX_DEPTH = 256        # edges from the root; below them the game is played out
    PV_TRIES = 64          # determinizations that are tried to put a variation into words


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


cdef class StopToken:
    """Ends searches from any thread: every search that was given this token returns with its result so far."""

    cdef volatile int stopped

    def stop(self) -> None:
        """End the searches; those that start later end after their first iteration."""
        self.stopped = 1

    @property
    def is_stopped(self) -> bool:
        return self.stopped != 0


cdef class Search:
    """One tree over one observation, grown by `run` until its budget is used up. Not to be run by two threads at once."""

    cdef readonly Observation observation
    cdef readonly int64_t iterations
    cdef readonly int64_t moves            # actions of playouts
    cdef readonly str stop_reason          # "iterations", "time" or "stopped", None before the first run
    cdef const GameOps *ops
    cdef const void *ctx
    cdef const void *belief
    cdef int32_t observer
    cdef Tree tree
    cdef double exploration
    cdef Rng rng
    cdef void *state
    cdef int32_t *actions
    cdef uint32_t *edge_of                 # by action, all NIL between steps
    cdef double *root_scores               # [action][seat], sums of scores below the root
    cdef double *root_squares              # [action][seat], sums of squared returns below the root
    cdef uint8_t *excluded                 # by action, what the root must not try
    cdef readonly int64_t adopted          # visits of the root that were taken over from another search
    cdef RootSums sums

    def __cinit__(self, Observation observation, seed: int, stream: int = 0, capacity: int = 1 << 20,
                  exploration: float = 0.7, only: list[int] | None = None):
        """`stream` separates searches that run side by side from one seed; `capacity` is in iterations that add to the tree.

        `only`: ids of the search actions that may be tried at the root, None for all.
        """
        cdef Game game = observation.game
        if observation.current_player < 0:
            raise ValueError("nobody is to move")
        self.observation = observation
        self.ops = &game.ops
        self.ctx = game.ctx
        self.belief = observation.prepared()
        self.observer = SPECTATOR if observation.seat is None else observation.seat
        self.exploration = exploration
        rng_seed(&self.rng, seed_bits(seed), SEARCH, stream)
        self.state = calloc(1, self.ops.state_size)
        self.actions = <int32_t *>calloc(self.ops.max_legal_actions, sizeof(int32_t))
        self.edge_of = <uint32_t *>calloc(self.ops.num_distinct_actions, sizeof(uint32_t))
        self.root_scores = <double *>calloc(self.ops.num_distinct_actions * self.ops.num_players, sizeof(double))
        self.root_squares = <double *>calloc(self.ops.num_distinct_actions * self.ops.num_players, sizeof(double))
        self.excluded = <uint8_t *>calloc(self.ops.num_distinct_actions, 1)
        if (
            self.state == NULL or self.actions == NULL or self.edge_of == NULL or self.root_scores == NULL
            or self.root_squares == NULL or self.excluded == NULL
            or not tree_alloc(&self.tree, capacity + 2, self.ops.num_players)
        ):
            raise MemoryError("not enough memory for a search tree of this size")
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
        free(self.edge_of)
        free(self.root_scores)
        free(self.root_squares)
        free(self.excluded)

    def adopt(self, Search old, keys: list[int]) -> bool:
        """Before the first run: take over what another search of the same observer has found below a line.

        `keys` are what the line showed the observer (State.event_key), action by action; without any, the whole tree is
        taken. Of several nodes that look alike to the observer the most visited one is taken. False, and nothing is taken,
        when the line is not in the tree. `root_edges` then counts visits of both, `sums` only what is new.
        """
        cdef uint32_t node = ROOT, best, edge, child
        cdef uint64_t key
        cdef int32_t action
        cdef bint copied
        if self.iterations or self.adopted:
            raise ValueError("a search adopts before its first run, and once")
        if old.observation.game is not self.observation.game or old.observer != self.observer:
            raise ValueError("only a search of the same observer in the same game can be adopted")
        for key in keys:
            best = NIL
            edge = old.tree.nodes[node].first_edge
            while edge != NIL:
                child = old.tree.edges[edge].first_node
                while child != NIL:
                    if old.tree.nodes[child].key == key and (
                        best == NIL or old.tree.nodes[child].visits > old.tree.nodes[best].visits
                    ):
                        best = child
                    child = old.tree.nodes[child].next
                edge = old.tree.edges[edge].next
            if best == NIL:
                return False
            node = best
        possible = set(self.observation.any_state().search_action_ids())
        edge = old.tree.nodes[node].first_edge
        if edge == NIL:
            return False
        while edge != NIL:
            action = old.tree.edges[edge].action
            if action not in possible or self.excluded[action]:
                return False
            edge = old.tree.edges[edge].next
        with nogil:
            copied = copy_subtree(&old.tree, node, &self.tree)
        if not copied:
            raise MemoryError("not enough memory to take over a tree")
        self.adopted = self.tree.nodes[ROOT].visits
        return True

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
        cdef double values[MAX_SEATS]
        cdef int32_t winners[MAX_OUTCOMES]
        cdef uint32_t node = ROOT, edge
        cdef int depth = 0, seat, i
        cdef int32_t action, first_action = 0
        cdef bint added = False
        ops.determinize(self.ctx, self.belief, &self.rng, self.state)
        if ops.num_outcomes:
            ops.follow(self.ctx, self.state)
        while depth < MAX_DEPTH and ops.current_player(self.ctx, self.state) != TERMINAL_NODE:
            edge = self.select(node, &action, &added)
            if depth == 0:
                first_action = action
            ops.apply(self.ctx, self.state, action)
            if edge == NIL:
                break
            path[depth] = edge
            depth += 1
            if added:
                break
            node = find_or_add_node(tree, edge, self.outcome_key())
            if node == NIL:
                break
        self.moves += ops.playout(self.ctx, self.state, &self.rng)
        ops.returns(self.ctx, self.state, values)
        for i in range(depth):
            tree.edges[path[i]].visits += 1
            for seat in range(ops.num_players):
                tree.totals[path[i] * tree.seats + seat] += values[seat]
        for seat in range(ops.num_players):
            self.sums.returns[seat] += values[seat]
            if depth:
                self.root_squares[first_action * tree.seats + seat] += values[seat] * values[seat]
        ops.scores(self.ctx, self.state, values)
        for seat in range(ops.num_players):
            self.sums.scores[seat] += values[seat]
            self.sums.squared_scores[seat] += values[seat] * values[seat]
            if depth:
                self.root_scores[first_action * tree.seats + seat] += values[seat]
        if ops.num_outcomes:
            ops.outcomes(self.ctx, self.state, winners)
            for i in range(ops.num_outcomes):
                if winners[i] != ABSENT:
                    self.sums.outcomes[i][winners[i] + 1] += 1

    cdef uint64_t outcome_key(self) noexcept nogil:
        """What the observer is shown of the last action, and of the chance that followed it, which is played here."""
        cdef uint64_t key = self.ops.event_key(self.ctx, self.state, self.observer)
        while self.ops.current_player(self.ctx, self.state) == CHANCE_NODE:
            self.ops.apply_chance(
                self.ctx, self.state, self.ops.sample_chance(self.ctx, self.state, &self.rng))
            key = rng_mix(key ^ self.ops.event_key(self.ctx, self.state, self.observer))
        return key

    cdef uint32_t select(self, uint32_t node, int32_t *action, bint *added) noexcept nogil:
        """Choose an action and its edge: a new one while an available action has none, else the best by UCB1.

        Counts availability. When the pool is full no edge is added, and NIL is returned with a random action at a node
        without any.
        """
        cdef Tree *tree = &self.tree
        cdef int32_t player = self.ops.current_player(self.ctx, self.state)
        cdef int32_t n = self.ops.search_actions(self.ctx, self.state, self.actions)
        cdef Edge *edges = tree.edges
        cdef uint32_t edge, best = NIL
        cdef int32_t untried = 0, allowed = 0, i, a
        cdef double value, best_value = -1.0
        if node == ROOT:
            for i in range(n):
                if not self.excluded[self.actions[i]]:
                    self.actions[allowed] = self.actions[i]
                    allowed += 1
            n = allowed
        tree.nodes[node].visits += 1
        edge = tree.nodes[node].first_edge
        while edge != NIL:
            self.edge_of[edges[edge].action] = edge
            edge = edges[edge].next
        for i in range(n):
            a = self.actions[i]
            edge = self.edge_of[a]
            if edge == NIL:
                self.actions[untried] = a
                untried += 1
                continue
            edges[edge].available += 1
            value = (
                tree.totals[edge * tree.seats + player] / edges[edge].visits
                + self.exploration * sqrt(log(edges[edge].available) / edges[edge].visits)
            )
            if value > best_value:
                best, best_value = edge, value
        edge = tree.nodes[node].first_edge
        while edge != NIL:
            self.edge_of[edges[edge].action] = NIL
            edge = edges[edge].next
        if untried and (best == NIL or tree.n_edges < tree.capacity):
            action[0] = self.actions[rng_below(&self.rng, untried)]
            best = add_edge(tree, node, action[0])
            if best != NIL:
                edges[best].available = 1
                added[0] = True
            return best
        action[0] = edges[best].action
        return best

    def root_edges(self) -> list[tuple[int, int, int, list[float], list[float]]]:
        """(action id, visits, availability, sums of returns by seat, sums of scores by seat) of every move looked at."""
        cdef uint32_t edge = self.tree.nodes[ROOT].first_edge
        cdef int32_t a
        cdef int seats = self.tree.seats, i
        result = []
        while edge != NIL:
            a = self.tree.edges[edge].action
            result.append((
                a, self.tree.edges[edge].visits, self.tree.edges[edge].available,
                [self.tree.totals[edge * seats + i] for i in range(seats)],
                [self.root_scores[a * seats + i] for i in range(seats)],
            ))
            edge = self.tree.edges[edge].next
        return result

    def squared_returns(self, action_id: int) -> list[float]:
        """Sums of squared returns by seat of a move of the root."""
        cdef int seats = self.tree.seats, i
        return [self.root_squares[<int32_t>action_id * seats + i] for i in range(seats)]

    def root_sums(self) -> tuple[list[float], list[float], list[float], list[list[int]]]:
        """Over all iterations: sums of returns, of scores and of squared scores by seat; and for every prize of the game
        how often nobody and each seat won it, all 0 when it was not there."""
        cdef int seats = self.tree.seats, i, k
        return (
            [self.sums.returns[i] for i in range(seats)],
            [self.sums.scores[i] for i in range(seats)],
            [self.sums.squared_scores[i] for i in range(seats)],
            [[self.sums.outcomes[k][i] for i in range(seats + 1)] for k in range(self.ops.num_outcomes)],
        )

    def edges(self) -> list[tuple[int, int, int, int, int, int]]:
        """The whole tree: (node, its visits, action id, visits, availability, visits of the nodes below) of every edge."""
        cdef uint32_t node, edge, child, below
        result = []
        for node in range(ROOT, self.tree.n_nodes):
            edge = self.tree.nodes[node].first_edge
            while edge != NIL:
                below = 0
                child = self.tree.edges[edge].first_node
                while child != NIL:
                    below += self.tree.nodes[child].visits
                    child = self.tree.nodes[child].next
                result.append((
                    node, self.tree.nodes[node].visits, self.tree.edges[edge].action, self.tree.edges[edge].visits,
                    self.tree.edges[edge].available, below,
                ))
                edge = self.tree.edges[edge].next
        return result

    @property
    def tree_size(self) -> tuple[int, int]:
        """Number of nodes and of edges."""
        return self.tree.n_nodes - 1, self.tree.n_edges - 1

    def variation(self, action_id: int, length: int) -> list[tuple[str, int]]:
        """The most visited line that begins with a move of the root: notation and visits of at most `length` actions.

        The line is put into words by playing it on determinizations; it ends where none of those tried can follow it.
        """
        cdef uint32_t edge = self.tree.nodes[ROOT].first_edge
        while edge != NIL and self.tree.edges[edge].action != action_id:
            edge = self.tree.edges[edge].next
        # Pairs of an action and the key of the node it leads to.
        line = []
        visits = []
        while edge != NIL and len(line) < length:
            node = self.most_visited_node(edge)
            line.append((self.tree.edges[edge].action, self.tree.nodes[node].key if node != NIL else None))
            visits.append(self.tree.edges[edge].visits)
            edge = self.most_visited_edge(node) if node != NIL else NIL
        best: list[str] = []
        for attempt in range(PV_TRIES):
            words = self.play_line(line, attempt)
            if len(words) > len(best):
                best = words
            if len(best) == len(line):
                break
        return list(zip(best, visits))

    cdef uint32_t most_visited_node(self, uint32_t edge) noexcept:
        cdef uint32_t node = self.tree.edges[edge].first_node, best = node
        while node != NIL:
            if self.tree.nodes[node].visits > self.tree.nodes[best].visits:
                best = node
            node = self.tree.nodes[node].next
        return best

    cdef uint32_t most_visited_edge(self, uint32_t node) noexcept:
        cdef uint32_t edge = self.tree.nodes[node].first_edge, best = edge
        while edge != NIL:
            if self.tree.edges[edge].visits > self.tree.edges[best].visits:
                best = edge
            edge = self.tree.edges[edge].next
        return best

    def play_line(self, line: list[tuple[int, int | None]], seed: int) -> list[str]:
        """As much of a line as one determinization allows, in notation."""
        cdef State state = self.observation.determinize(seed)
        cdef uint64_t key
        words = []
        for action, expected in line:
            if action not in state.legal_action_ids():
                break
            words.append(state.game.action_text(state, action))
            self.ops.apply(self.ctx, state.data, action)
            if expected is None or state.current_player == CHANCE_NODE:
                break
            key = self.ops.event_key(self.ctx, state.data, self.observer)
            if key != <uint64_t>expected:
                break
        return words


def bytes_per_node(seats: int) -> int:
    """Memory that one iteration adds to a tree at most."""
    return bytes_per_entry(seats)


def is_debug_build() -> bool:
    """Whether this was compiled with bounds checks and sanitizers."""
    return BVB_DEBUG != 0


def capacity_for(Game game, iterations: int | None, memory_mb: int) -> int:
    """Tree capacity in iterations: as many as are asked for, and not more than fit into the memory."""
    entries = (memory_mb << 20) // bytes_per_entry(game.ops.num_players)
    return min(entries, iterations) if iterations is not None else entries
