/* random: random numbers that depend only on a seed and on indices, so they are the same on every device
   and in any order. Twin: numerics/random_numbers.py.

   `mix` is a bijection of 32 bits (C. Wellons 2018, "Prospecting for Hash Functions", lowbias32). */

FN u32 mix(const u32 given) {
    u32 x = given;
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return x;
}

/* The key of a stream of random numbers, from three numbers. */
FN u32 stream(const u32 seed, const u32 a, const u32 b) {
    return mix(mix(mix(seed + 0x9E3779B9u) + a) ^ (b * 0x85EBCA6Bu + 0xC2B2AE35u));
}

/* Number `i` of a stream; different i give different numbers. */
FN u32 random_bits(const u32 key, const u32 i) { return mix(mix(i + key) ^ (key * 0x27D4EB2Fu)); }

/* A number in 0 .. 1, 1 excluded, from the upper 24 bits. */
FN f32 unit_number(const u32 bits) { return (f32)(bits >> 8) * 5.9604644775390625e-8f; }
