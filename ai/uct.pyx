"""UCT in a game of full information (Kocsis and Szepesvari 2006), over any game that meets bvb_core.game.

Every seat maximises its own return. The leaf is played to the end by uniformly random legal actions. Searching
determinizations one by one gives perfect-information Monte Carlo; searching the true state, a clairvoyant.
"""

from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from ai.tree cimport NIL, ROOT, Edge, Tree, add_edge, find_or_add_node, tree_alloc, tree_free
from bvb_core.game cimport CHANCE_NODE, MAX_SEATS, TERMINAL_NODE, Game, GameOps, State, seed_bits
from bvb_core.rng cimport SEARCH, Rng, rng_below, rng_mix, rng_seed

cdef enum:
    MAX_DEPTH = 256        # edges from the root; below them the game is played out


cdef class StateSearch:
    """One tree over one state, all of it in sight. Not to be run by two threads at once."""

    cdef readonly State root
    cdef readonly int64_t iterations
    cdef const GameOps *ops
    cdef const void *ctx
    cdef Tree tree
    cdef double exploration
    cdef Rng rng
    cdef State state
    cdef int32_t *actions
    cdef uint32_t *edge_of                 # by action, all NIL between steps
    cdef double *root_scores               # [action][seat], sums of scores below the root

    def __cinit__(
        self, State root, seed: int, stream: int = 0, capacity: int = 1 << 16, exploration: float = 0.7
    ):
        """`stream` separates searches that run side by side from one seed; `capacity` is in iterations that add to
        the tree."""
        cdef Game game = root.game
        self.root = root.clone()
        self.state = root.clone()
        self.ops = &game.ops
        self.ctx = game.ctx
        self.exploration = exploration
        rng_seed(&self.rng, seed_bits(seed), SEARCH, stream)
        self.actions = <int32_t *>calloc(self.ops.max_legal_actions, sizeof(int32_t))
        self.edge_of = <uint32_t *>calloc(self.ops.num_distinct_actions, sizeof(uint32_t))
        self.root_scores = <double *>calloc(
            self.ops.num_distinct_actions * self.ops.num_players, sizeof(double))
        if (
            self.actions == NULL or self.edge_of == NULL or self.root_scores == NULL
            or not tree_alloc(&self.tree, capacity + 2, self.ops.num_players)
        ):
            raise MemoryError("not enough memory for a search tree of this size")

    def __dealloc__(self):
        tree_free(&self.tree)
        free(self.actions)
        free(self.edge_of)
        free(self.root_scores)

    def run(self, iterations: int) -> None:
        """Grow the tree by a number of iterations."""
        cdef int64_t _i, n = iterations
        with nogil:
            for _i in range(n):
                self.iterate()
        self.iterations += n

    cdef void iterate(self) noexcept nogil:
        cdef const GameOps *ops = self.ops
        cdef Tree *tree = &self.tree
        cdef void *state = self.state.data
        cdef uint32_t path[MAX_DEPTH]
        cdef double values[MAX_SEATS]
        cdef uint32_t node = ROOT, edge
        cdef int depth = 0, seat, i
        cdef int32_t action, first_action = 0
        cdef bint added = False
        memcpy(state, self.root.data, ops.state_size)
        while depth < MAX_DEPTH and ops.current_player(self.ctx, state) != TERMINAL_NODE:
            edge = self.select(node, &action, &added)
            if depth == 0:
                first_action = action
            ops.apply(self.ctx, state, action)
            if edge == NIL:
                break
            path[depth] = edge
            depth += 1
            if added:
                break
            node = find_or_add_node(tree, edge, self.chance_key())
            if node == NIL:
                break
        ops.playout(self.ctx, state, &self.rng)
        ops.returns(self.ctx, state, values)
        for i in range(depth):
            tree.edges[path[i]].visits += 1
            for seat in range(ops.num_players):
                tree.totals[path[i] * tree.seats + seat] += values[seat]
        if depth:
            ops.scores(self.ctx, state, values)
            for seat in range(ops.num_players):
                self.root_scores[first_action * tree.seats + seat] += values[seat]

    cdef uint64_t chance_key(self) noexcept nogil:
        """The chance that followed an action, which is played here; equal when there was none."""
        cdef uint64_t key = 0
        cdef int32_t outcome
        while self.ops.current_player(self.ctx, self.state.data) == CHANCE_NODE:
            outcome = self.ops.sample_chance(self.ctx, self.state.data, &self.rng)
            self.ops.apply_chance(self.ctx, self.state.data, outcome)
            key = rng_mix(key + outcome + 1)
        return key

    cdef uint32_t select(self, uint32_t node, int32_t *action, bint *added) noexcept nogil:
        """Take a move that was not tried yet, at random, or else the best by UCB1.

        When the pool is full no edge is added, and NIL is returned with a random action at a node without any.
        """
        cdef Tree *tree = &self.tree
        cdef int32_t player = self.ops.current_player(self.ctx, self.state.data)
        cdef int32_t n = self.ops.search_actions(self.ctx, self.state.data, self.actions)
        cdef Edge *edges = tree.edges
        cdef uint32_t edge = tree.nodes[node].first_edge, best = NIL
        cdef int32_t untried = 0, i
        cdef double value, best_value = -1.0
        tree.nodes[node].visits += 1
        while edge != NIL:
            self.edge_of[edges[edge].action] = edge
            value = (
                tree.totals[edge * tree.seats + player] / edges[edge].visits
                + self.exploration * sqrt(log(tree.nodes[node].visits) / edges[edge].visits)
            )
            if value > best_value:
                best, best_value = edge, value
            edge = edges[edge].next
        for i in range(n):
            if self.edge_of[self.actions[i]] == NIL:
                self.actions[untried] = self.actions[i]
                untried += 1
        edge = tree.nodes[node].first_edge
        while edge != NIL:
            self.edge_of[edges[edge].action] = NIL
            edge = edges[edge].next
        if untried and (best == NIL or tree.n_edges < tree.capacity):
            action[0] = self.actions[rng_below(&self.rng, untried)]
            best = add_edge(tree, node, action[0])
            added[0] = best != NIL
            return best
        action[0] = edges[best].action
        return best

    def root_edges(self) -> list[tuple[int, int, list[float], list[float]]]:
        """(action id, visits, sums of returns by seat, sums of scores by seat) of the moves looked at."""
        cdef uint32_t edge = self.tree.nodes[ROOT].first_edge
        cdef int32_t a
        cdef int seats = self.tree.seats, i
        result = []
        while edge != NIL:
            a = self.tree.edges[edge].action
            result.append((
                a, self.tree.edges[edge].visits,
                [self.tree.totals[edge * seats + i] for i in range(seats)],
                [self.root_scores[a * seats + i] for i in range(seats)],
            ))
            edge = self.tree.edges[edge].next
        return result
