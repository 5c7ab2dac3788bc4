# cython: boundscheck=True, wraparound=True, annotation_typing=False
"""Game, State, Observation and Action: the Python face of GameOps, the same for every game."""

from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from cpython.bytes cimport PyBytes_FromStringAndSize

from bvb_core.rng cimport DEAL, DETERMINIZATION, PLAYOUT, Rng, rng_seed

CHANCE = CHANCE_NODE
TERMINAL = TERMINAL_NODE


class IllegalActionError(ValueError):
    """An action that is not legal now, or not an action; the message says which and why. The state is unchanged."""


class ObservationError(ValueError):
    """An observation that cannot be. `field` is the path of the field that is wrong, as in "players[1].hand_count", and
    `problem` says why; where several fields contradict each other, `fields` names all of them, `field` first."""

    def __init__(self, field: str, problem: str, others: tuple[str, ...] = ()) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
        self.fields = (field, *others)


cdef uint64_t seed_bits(object seed) except? 0:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be a whole number, not {seed!r}")
    return seed & 0xFFFFFFFFFFFFFFFF


class Action:
    """A legal action: `id` is a small integer, the same for the same move in every state of an information set;
    `str(action)` is its notation."""

    __slots__ = ("id", "text")

    def __init__(self, id: int, text: str) -> None:
        self.id = id
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Action({self.id}, {self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Action) and (self.id, self.text) == (other.id, other.text)

    def __hash__(self) -> int:
        return hash((self.id, self.text))


cdef class Game:
    """Rules with deck and options. Immutable; states and observations of one game may be used in many threads."""

    state_type = State
    observation_type = Observation
    action_type = Action

    cdef int check_ops(self) except -1:
        """To be called when ops is filled: refuses a game compiled against another contract."""
        if self.ops.abi_version != ABI_VERSION or self.ops.struct_size != sizeof(GameOps):
            raise ImportError(
                f"{type(self).__name__} was compiled for version {self.ops.abi_version} of the game contract, "
                f"this is version {ABI_VERSION}: build it anew"
            )
        if not 1 <= self.ops.num_players <= MAX_SEATS:
            raise ImportError(f"{type(self).__name__} has {self.ops.num_players} players, 1 to {MAX_SEATS} are possible")
        if not 0 <= self.ops.num_outcomes <= MAX_OUTCOMES:
            raise ImportError(f"{type(self).__name__} has {self.ops.num_outcomes} prizes, 0 to {MAX_OUTCOMES} are possible")
        return 0

    @property
    def num_players(self) -> int:
        return self.ops.num_players

    @property
    def num_distinct_actions(self) -> int:
        """Action ids are 0 to this - 1: the size of a policy vector."""
        return self.ops.num_distinct_actions

    @property
    def max_legal_actions(self) -> int:
        return self.ops.max_legal_actions

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """Names of the prizes whose winners an analysis counts."""
        return ()

    def check_id(self, action_id: int) -> None:
        """Raises ValueError for a number that is no action id."""
        if not 0 <= action_id < self.ops.num_distinct_actions:
            raise ValueError(f"action ids are 0 to {self.ops.num_distinct_actions - 1}, not {action_id}")

    def new_state(self, seed: int) -> State:
        """A new game. The same seed gives the same game on every platform."""
        cdef State state = self.state_type(self)
        cdef Rng rng
        rng_seed(&rng, seed_bits(seed), DEAL, 0)
        self.ops.initial_state(self.ctx, &rng, state.data)
        return state

    cpdef str action_text(self, State state, int32_t action):
        """Notation of an action in a state."""
        return str(action)

    cpdef str seen_text(self, State state, int32_t action, object observer):
        """Notation of an action as an observer (a seat, None for a spectator) would see it played."""
        return self.action_text(state, action)

    cpdef tuple belief_problem(self, Observation observation, int32_t code):
        """Why prepare_belief refused an observation: the arguments of an ObservationError."""
        return "observation", f"contradictory (code {code})"


cdef class State:
    """The full state of a game, hidden cards included: for the owner of a game, never for a bot in it."""

    def __cinit__(self, Game game, *args, **kwargs):
        self.game = game
        self.data = calloc(1, game.ops.state_size)
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.data)

    @property
    def current_player(self) -> int:
        """Seat to move, CHANCE or TERMINAL."""
        return self.game.ops.current_player(self.game.ctx, self.data)

    @property
    def is_terminal(self) -> bool:
        return self.current_player == TERMINAL_NODE

    def legal_action_ids(self) -> list[int]:
        """Ids of the legal actions in increasing order; empty when the game is over and at chance nodes."""
        return self._ids(self.game.ops.legal_actions)

    def search_action_ids(self) -> list[int]:
        """Ids of the legal actions that a search looks at: the first one of each class of symmetric moves."""
        return self._ids(self.game.ops.search_actions)

    cdef list _ids(self, int32_t (*listing)(const void *, const void *, int32_t *) noexcept nogil):
        cdef int32_t *ids = <int32_t *>calloc(self.game.ops.max_legal_actions, sizeof(int32_t))
        cdef int32_t n, i
        if ids == NULL:
            raise MemoryError
        n = listing(self.game.ctx, self.data, ids)
        try:
            return [ids[i] for i in range(n)]
        finally:
            free(ids)

    def representative(self, action_id: int) -> int:
        """Id of the search action that stands for a legal action. Raises ValueError for a number that is no id."""
        self.game.check_id(action_id)
        return self.game.ops.representative(self.game.ctx, self.data, action_id)

    def action(self, action_id: int) -> Action:
        """The Action with an id that is legal here. Raises ValueError for a number that is no id."""
        self.game.check_id(action_id)
        return self.game.action_type(action_id, self.game.action_text(self, action_id))

    def legal_actions(self) -> list[Action]:
        """All legal actions, sorted by notation; empty when the game is over."""
        return sorted((self.action(i) for i in self.legal_action_ids()), key=str)

    def legal_mask(self):
        """numpy bool array of shape (num_distinct_actions,): True at the ids of legal actions."""
        import numpy
        mask = numpy.zeros(self.game.ops.num_distinct_actions, dtype=bool)
        mask[self.legal_action_ids()] = True
        return mask

    def why_illegal(self, text: str) -> str:
        """Why a text is no legal action here."""
        return "the game is over" if self.is_terminal else "not a legal action now"

    def apply(self, action) -> None:
        """Play an Action, its notation, or its id. Raises IllegalActionError and leaves the state as it was."""
        self._apply_id(self._find(action))

    def _find(self, action) -> int:
        for action_id in self.legal_action_ids():
            if isinstance(action, int):
                if action == action_id:
                    return action_id
            elif self.game.action_text(self, action_id) == str(action):
                return action_id
        raise IllegalActionError(f"illegal action {str(action)!r}: {self.why_illegal(str(action))}")

    def _apply_id(self, action_id: int) -> None:
        self.game.ops.apply(self.game.ctx, self.data, action_id)

    def sample_chance(self, seed: int) -> int:
        """An outcome at a chance node."""
        cdef Rng rng
        if self.current_player != CHANCE_NODE:
            raise ValueError("not at a chance node")
        rng_seed(&rng, seed_bits(seed), DEAL, 1)
        return self.game.ops.sample_chance(self.game.ctx, self.data, &rng)

    def apply_chance(self, outcome: int) -> None:
        """Play an outcome of sample_chance."""
        if self.current_player != CHANCE_NODE:
            raise ValueError("not at a chance node")
        self.game.ops.apply_chance(self.game.ctx, self.data, outcome)

    def random_action(self, seed: int) -> int:
        """Id of a uniformly random legal action."""
        cdef Rng rng
        if self.current_player < 0:
            raise ValueError("nobody is to move")
        rng_seed(&rng, seed_bits(seed), PLAYOUT, 1)
        return self.game.ops.random_action(self.game.ctx, self.data, &rng)

    def playout(self, seed: int) -> int:
        """Play uniformly random legal actions to the end; returns their number."""
        cdef Rng rng
        cdef int32_t n
        rng_seed(&rng, seed_bits(seed), PLAYOUT, 0)
        with nogil:
            n = self.game.ops.playout(self.game.ctx, self.data, &rng)
        return n

    def follow(self) -> None:
        """From here on keep in mind who wins each prize that is there now (see outcomes). Changes nothing else."""
        if self.game.ops.num_outcomes:
            self.game.ops.follow(self.game.ctx, self.data)

    def outcomes(self) -> dict[str, int | None]:
        """Of a followed game that is over: the seat that won each prize, None for nobody, by name.

        Prizes that were not there when `follow` was called are left out.
        """
        cdef int32_t seats[MAX_OUTCOMES]
        if not self.game.ops.num_outcomes:
            return {}
        self.game.ops.outcomes(self.game.ctx, self.data, seats)
        return {
            name: None if seats[i] == NOBODY else seats[i]
            for i, name in enumerate(self.game.outcome_names) if seats[i] != ABSENT
        }

    def event_key(self, seat: int | None) -> int:
        """64-bit key of what the last action showed to a seat, or to a spectator (None)."""
        return self.game.ops.event_key(self.game.ctx, self.data, self._observer(seat))

    def returns(self) -> list[float]:
        """Victory shares by seat, summing to 1: a won game is 1, a victory shared by n seats is 1/n each."""
        cdef double shares[MAX_SEATS]
        self.game.ops.returns(self.game.ctx, self.data, shares)
        return [shares[i] for i in range(self.game.ops.num_players)]

    def scores(self) -> list[int]:
        """Points by seat."""
        cdef double points[MAX_SEATS]
        self.game.ops.scores(self.game.ctx, self.data, points)
        return [int(points[i]) for i in range(self.game.ops.num_players)]

    def _observer(self, seat: int | None) -> int:
        if seat is None:
            return SPECTATOR
        if not 0 <= seat < self.game.ops.num_players:
            raise ValueError(f"seat must be 0 to {self.game.ops.num_players - 1} or None, not {seat}")
        return seat

    def observation(self, seat: int | None) -> Observation:
        """What a seat knows, or a spectator (None)."""
        cdef Observation observation = self.game.observation_type(self.game, seat)
        self.game.ops.observe(self.game.ctx, self.data, self._observer(seat), observation.data)
        return observation

    def clone(self) -> State:
        """An independent copy."""
        cdef State copy = self.game.state_type(self.game)
        memcpy(copy.data, self.data, self.game.ops.state_size)
        return copy

    def __copy__(self) -> State:
        return self.clone()

    def __deepcopy__(self, memo) -> State:
        return self.clone()

    def _raw(self) -> bytes:
        return PyBytes_FromStringAndSize(<char *>self.data, self.game.ops.state_size)

    def __eq__(self, other) -> bool:
        return isinstance(other, State) and self.game is (<State>other).game and memcmp(
            self.data, (<State>other).data, self.game.ops.state_size) == 0

    __hash__ = None


cdef class Observation:
    """What one observer knows of a game, and nothing else. Equal knowledge gives equal bytes."""

    def __cinit__(self, Game game, seat, *args, **kwargs):
        self.game = game
        self.seat = seat
        self.data = calloc(1, game.ops.observation_size)
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.data)
        free(self.belief)

    cdef void *prepared(self) except NULL:
        """The belief; raises ObservationError when there is none."""
        cdef void *belief
        cdef int32_t code
        if self.belief == NULL:
            belief = calloc(1, self.game.ops.belief_size)
            if belief == NULL:
                raise MemoryError
            code = self.game.ops.prepare_belief(self.game.ctx, self.data, belief)
            self.belief = belief
            if code:
                try:
                    raise ObservationError(*self.game.belief_problem(self, code))
                finally:
                    self.belief = NULL
                    free(belief)
        return self.belief

    def determinize(self, seed: int) -> State:
        """One state drawn from the belief; equal seeds give equal states.

        The draw is unrelated to the deal of a game with the same seed.
        """
        cdef State state = self.game.state_type(self.game)
        cdef Rng rng
        cdef void *belief = self.prepared()
        rng_seed(&rng, seed_bits(seed), DETERMINIZATION, 0)
        self.game.ops.determinize(self.game.ctx, belief, &rng, state.data)
        return state

    cpdef State any_state(self):
        """A determinization, for what all states of the information set share: whose turn it is, and what the seat may do."""
        if self.sample is None:
            self.sample = self.determinize(0)
        return self.sample

    def warnings(self) -> list[str]:
        """What this observer would know in a game, but does not here, so that the belief is weaker than it could be."""
        return []

    @property
    def current_player(self) -> int:
        """Seat to move, CHANCE or TERMINAL."""
        return self.any_state().current_player

    @property
    def is_terminal(self) -> bool:
        return self.current_player == TERMINAL_NODE

    def legal_actions(self) -> list[Action]:
        """Legal actions of the observer, sorted by notation; empty when it is not their turn."""
        return self.any_state().legal_actions() if self.seat == self.current_player else []

    def legal_mask(self):
        """numpy bool array of shape (num_distinct_actions,): True at the ids of the observer's legal actions."""
        mask = self.any_state().legal_mask()
        if self.seat != self.current_player:
            mask[:] = False
        return mask

    def tensor(self, out=None):
        """What the observer knows as a flat numpy float32 array, from the observer's point of view.

        Its length is the same for all observations of a game. `out`, a float32 array of that length, is filled when given.
        Raises NotImplementedError in games that have none.
        """
        raise NotImplementedError(f"{type(self.game).__name__} has no tensors")

    def _raw(self) -> bytes:
        return PyBytes_FromStringAndSize(<char *>self.data, self.game.ops.observation_size)

    def __bytes__(self) -> bytes:
        return self._raw()

    def __eq__(self, other) -> bool:
        return isinstance(other, Observation) and self.game is (<Observation>other).game and memcmp(
            self.data, (<Observation>other).data, self.game.ops.observation_size) == 0

    __hash__ = None
