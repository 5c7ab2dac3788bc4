"""The seeded generator: the only source of chance.

xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64 as its authors advise. Streams for different purposes
are separated by mixing the purpose into the seed, so one seed used for a deal and for a search gives unrelated numbers.
"""

from libc.stdint cimport uint32_t, uint64_t


cdef enum:  # Purpose
    DEAL = 1
    DETERMINIZATION = 2
    SEARCH = 3
    PLAYOUT = 4


cdef struct Rng:
    uint64_t s[4]


cdef inline uint64_t rng_mix(uint64_t x) noexcept nogil:
    """The output function of SplitMix64: a bijection of 64 bits."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline void rng_seed(Rng *rng, uint64_t seed, uint64_t purpose, uint64_t stream) noexcept nogil:
    cdef uint64_t x = rng_mix(rng_mix(seed) ^ (purpose << 56) ^ stream)
    cdef int i
    for i in range(4):
        x += <uint64_t>0x9E3779B97F4A7C15
        rng.s[i] = rng_mix(x)


cdef inline uint64_t rng_next(Rng *rng) noexcept nogil:
    cdef uint64_t result = rng.s[1] * 5
    cdef uint64_t t = rng.s[1] << 17
    result = ((result << 7) | (result >> 57)) * 9
    rng.s[2] ^= rng.s[0]
    rng.s[3] ^= rng.s[1]
    rng.s[1] ^= rng.s[2]
    rng.s[0] ^= rng.s[3]
    rng.s[2] ^= t
    rng.s[3] = (rng.s[3] << 45) | (rng.s[3] >> 19)
    return result


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
