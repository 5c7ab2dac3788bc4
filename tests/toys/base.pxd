"""What the toy games share."""

from libc.stdint cimport int32_t, uint64_t

from bvb_core.game cimport Game, GameOps
from bvb_core.rng cimport Rng, rng_mix


cdef struct Options:
    # The ctx of every toy.
    const GameOps *ops
    int32_t first          # seat that begins
    int32_t percent[8]     # by action


cdef class ToyGame(Game):
    cdef Options options
    cdef GameOps *open_ops(self, int players, size_t state_size, int n_actions)


cdef inline uint64_t key_of(int a, int b, int c) noexcept nogil:
    """An event key; every part is -1 or more, and less than 1000."""
    return rng_mix(<uint64_t>(a + 1) | <uint64_t>(b + 1) << 16 | <uint64_t>(c + 1) << 32)


cdef inline void halves(double difference, double *shares) noexcept nogil:
    """Shares of two seats, the first of which is ahead by a difference of -1 to 1."""
    shares[0] = 0.5 + difference / 2
    shares[1] = 0.5 - difference / 2
