# cython: annotation_typing=False
"""What benchmarks need: loops without Python in them, timed by the time of the processor, and how this was built."""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

import time

from bvb_core.game cimport Game, Observation, State, seed_bits
from bvb_core.rng cimport DETERMINIZATION, PLAYOUT, Rng, rng_below, rng_seed

cdef extern from *:
    """
    #ifndef BVB_FLAGS
    #define BVB_FLAGS ""
    #endif
    #if defined(__clang__)
    #define BVB_COMPILER __VERSION__
    #else
    #define BVB_COMPILER "gcc " __VERSION__
    #endif
    """
    const char *BVB_FLAGS
    const char *BVB_COMPILER


def compiler() -> str:
    """The compiler of this build, with its version."""
    return BVB_COMPILER.decode()


def compiler_flags() -> str:
    """The flags of this build that decide what machine code comes out."""
    return BVB_FLAGS.decode()


def time_playouts(State start, seed: int, count: int) -> tuple[float, int]:
    """Random playouts from copies of a state: (seconds, actions)."""
    cdef Game game = start.game
    cdef State state = start.clone()
    cdef Rng rng
    cdef int64_t actions = 0, _, n = count
    rng_seed(&rng, seed_bits(seed), PLAYOUT, 0)
    begin = time.thread_time()
    with nogil:
        for _ in range(n):
            memcpy(state.data, start.data, game.ops.state_size)
            actions += game.ops.playout(game.ctx, state.data, &rng)
    return time.thread_time() - begin, actions


def time_determinize(Observation observation, seed: int, count: int) -> float:
    """Determinizations from one prepared belief: seconds."""
    cdef Game game = observation.game
    cdef State state = observation.any_state().clone()
    cdef void *belief = observation.prepared()
    cdef Rng rng
    cdef int64_t _, n = count
    rng_seed(&rng, seed_bits(seed), DETERMINIZATION, 0)
    begin = time.thread_time()
    with nogil:
        for _ in range(n):
            game.ops.determinize(game.ctx, belief, &rng, state.data)
    return time.thread_time() - begin


def time_shuffle(cards: int, seed: int, count: int) -> float:
    """A plain shuffle and deal of so many cards into another array, the yardstick of determinizations: seconds."""
    cdef int size = cards, i, j
    cdef int64_t _, n = count
    cdef Rng rng
    cdef uint8_t *deck = <uint8_t *>calloc(2 * size, 1)
    cdef uint8_t *dealt = deck + size
    cdef uint8_t kept
    if deck == NULL:
        raise MemoryError
    for i in range(size):
        deck[i] = i
    rng_seed(&rng, seed_bits(seed), DETERMINIZATION, 1)
    begin = time.thread_time()
    with nogil:
        for _ in range(n):
            for i in range(size - 1, -1, -1):
                j = rng_below(&rng, i + 1)
                kept = deck[j]
                deck[j] = deck[i]
                deck[i] = kept
                dealt[i] = kept
    elapsed = time.thread_time() - begin
    free(deck)
    return elapsed
