"""The seeded generator: the only source of chance.

wyrand (Wang Yi, 2019: the generator of wyhash 4): one addition, one 128-bit product. Seeds go through the output function of
SplitMix64. Streams for different purposes are separated by mixing the purpose into the seed, so one seed used for a deal and
for a search gives unrelated numbers.
"""

from libc.stdint cimport uint32_t, uint64_t


cdef extern from *:
    """
    static inline uint64_t bvb_fold(uint64_t a, uint64_t b) {
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)(product >> 64) ^ (uint64_t)product;
    }
    """
    uint64_t fold "bvb_fold"(uint64_t a, uint64_t b) noexcept nogil


cdef enum:  # Purpose
    DEAL = 1
    DETERMINIZATION = 2
    SEARCH = 3
    PLAYOUT = 4


cdef struct Rng:
    uint64_t state


cdef inline uint64_t rng_mix(uint64_t x) noexcept nogil:
    """The output function of SplitMix64: a bijection of 64 bits."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline void rng_seed(Rng *rng, uint64_t seed, uint64_t purpose, uint64_t stream) noexcept nogil:
    # Odd multiples keep purposes, streams and neighbouring seeds apart before they are mixed.
    rng.state = rng_mix(rng_mix(seed + <uint64_t>0x9E3779B97F4A7C15 * (purpose + 1)) + stream)


cdef inline uint64_t rng_next(Rng *rng) noexcept nogil:
    rng.state += <uint64_t>0xA0761D6478BD642F
    return fold(rng.state, rng.state ^ <uint64_t>0xE7037ED1A0B428DB)


cdef inline uint32_t rng_below(Rng *rng, uint32_t n) noexcept nogil:
    """An exactly uniform number in [0, n), n >= 1 (Lemire 2019, section 4)."""
    cdef uint64_t m = (rng_next(rng) >> 32) * n
    cdef uint32_t low = <uint32_t>m
    cdef uint32_t threshold
    if low < n:
        threshold = (<uint32_t>0 - n) % n
        while low < threshold:
            m = (rng_next(rng) >> 32) * n
            low = <uint32_t>m
    return <uint32_t>(m >> 32)


cdef inline double rng_double(Rng *rng) noexcept nogil:
    """Uniform in [0, 1), 53 bits."""
    return (rng_next(rng) >> 11) * (1.0 / 9007199254740992.0)
