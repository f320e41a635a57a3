/* NVIDIA's CUB, timed: the peer of our primitives on its own cards.

   Reads lines "operation type n segments repeats" from standard input and answers each with the
   milliseconds of every repeat, by CUDA events around the call. Inputs are random and made anew, or
   copied anew, before every repeat; temporary storage is allocated before. Built by cub.py. */
#include <cub/cub.cuh>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status = (call);                                                 \
        if (status != cudaSuccess) throw std::string(cudaGetErrorString(status));          \
    } while (0)

/* Random words: a counter, mixed (Steele, Lea & Flood 2014, splitmix64). */
__global__ void fill_random(uint32_t* words, const uint64_t n, const uint64_t seed) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint64_t z = (i + seed) * 0x9E3779B97F4A7C15ull;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        words[i] = (uint32_t)(z ^ (z >> 31));
    }
}

/* Even segments: offsets 0, n / segments, ... */
__global__ void fill_offsets(int64_t* offsets, const uint64_t n, const uint64_t segments) {
    const uint64_t s = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s <= segments) offsets[s] = (int64_t)(n / segments * s + (s == segments ? n % segments : 0));
}

/* Keys that change every `run` elements; flags that are set for about half of them. */
__global__ void fill_runs(uint32_t* keys, const uint64_t n, const uint64_t run) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        keys[i] = (uint32_t)(i / run);
}

__global__ void fill_flags(uint8_t* flags, const uint64_t n) {
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        flags[i] = (uint8_t)((i * 0x9E3779B97F4A7C15ull) >> 63);
}

struct Memory {
    void* at = nullptr;
    explicit Memory(const size_t bytes) { CHECK(cudaMalloc(&at, bytes ? bytes : 1)); }
    ~Memory() { cudaFree(at); }
    Memory(const Memory&) = delete;
    template <typename T> T* as() { return static_cast<T*>(at); }
};

using Call = std::function<cudaError_t(void*, size_t&)>;

static void report(const Call& call, const std::function<void(int)>& prepare, const int repeats) {
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    Memory storage(bytes);
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int repeat = -1; repeat < repeats; repeat++) { /* one to warm up */
        prepare(repeat);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(begin));
        CHECK(call(storage.at, bytes));
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (repeat >= 0) printf("%s%.6f", repeat ? " " : "", ms);
    }
    printf("\n");
    fflush(stdout);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
}

template <typename T>
static bool measure(const std::string& op, const uint64_t n, const uint64_t segments, const int repeats) {
    const int64_t count = (int64_t)n;
    Memory in(n * sizeof(T)), out(n * sizeof(T)), offsets_memory((segments + 1) * sizeof(int64_t));
    int64_t* offsets = offsets_memory.as<int64_t>();
    const auto fresh = [&](const int repeat) {
        fill_random<<<1024, 256>>>(in.as<uint32_t>(), n * sizeof(T) / 4, (uint64_t)(repeat + 2) << 40);
    };
    if (segments) fill_offsets<<<(unsigned)(segments / 256 + 1), 256>>>(offsets, n, segments);
    T *from = in.as<T>(), *to = out.as<T>();
    if (op == "reduce")
        report([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, from, to, count); }, fresh, repeats);
    else if (op == "scan")
        report([&](void* s, size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, from, to, count); }, fresh, repeats);
    else if (op == "segmented_reduce")
        report([&](void* s, size_t& b) {
            return cub::DeviceSegmentedReduce::Sum(s, b, from, to, (int64_t)segments, offsets, offsets + 1);
        }, fresh, repeats);
    else if (op == "segmented_scan") {
        Memory keys(n * 4);
        fill_runs<<<1024, 256>>>(keys.as<uint32_t>(), n, n / segments);
        report([&](void* s, size_t& b) {
            return cub::DeviceScan::InclusiveSumByKey(s, b, keys.as<uint32_t>(), from, to, count);
        }, fresh, repeats);
    } else if (op == "sort_keys")
        report([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeys(s, b, from, to, count); }, fresh, repeats);
    else if (op == "sort_pairs") {
        Memory values(n * 4), moved(n * 4);
        report([&](void* s, size_t& b) {
            return cub::DeviceRadixSort::SortPairs(
                s, b, from, to, values.as<uint32_t>(), moved.as<uint32_t>(), count);
        }, fresh, repeats);
    } else if (op == "segmented_sort")
        report([&](void* s, size_t& b) {
            return cub::DeviceSegmentedSort::StableSortKeys(
                s, b, from, to, count, (int64_t)segments, offsets, offsets + 1);
        }, fresh, repeats);
    else if (op == "segmented_radix_sort")
        report([&](void* s, size_t& b) {
            return cub::DeviceSegmentedRadixSort::SortKeys(
                s, b, from, to, count, (int64_t)segments, offsets, offsets + 1);
        }, fresh, repeats);
    else if (op == "compact") {
        Memory flags(n), kept(8);
        fill_flags<<<1024, 256>>>(flags.as<uint8_t>(), n);
        report([&](void* s, size_t& b) {
            return cub::DeviceSelect::Flagged(s, b, from, flags.as<uint8_t>(), to, kept.as<int64_t>(), count);
        }, fresh, repeats);
    } else if (op == "run_length") {
        Memory counts(n * 4), runs(8);
        report([&](void* s, size_t& b) {
            return cub::DeviceRunLengthEncode::Encode(
                s, b, in.as<uint32_t>(), out.as<uint32_t>(), counts.as<uint32_t>(), runs.as<int64_t>(), count);
        }, [&](int) { fill_runs<<<1024, 256>>>(in.as<uint32_t>(), n, 8); }, repeats);
    } else
        return false;
    return true;
}

int main() {
    char op[64], type[16];
    unsigned long long n, segments;
    int repeats;
    while (scanf("%63s %15s %llu %llu %d", op, type, &n, &segments, &repeats) == 5) {
        const std::string t = type;
        try {
            const bool known = t == "int32"     ? measure<int32_t>(op, n, segments, repeats)
                : t == "uint32" ? measure<uint32_t>(op, n, segments, repeats)
                : t == "int64"  ? measure<int64_t>(op, n, segments, repeats)
                : t == "uint64" ? measure<uint64_t>(op, n, segments, repeats)
                : t == "float32" ? measure<float>(op, n, segments, repeats)
                : t == "float64" ? measure<double>(op, n, segments, repeats) : false;
            if (!known) printf("unknown\n");
        } catch (const std::string& error) {
            printf("failed: %s\n", error.c_str());
            cudaGetLastError();
        }
        fflush(stdout);
    }
    return 0;
}
