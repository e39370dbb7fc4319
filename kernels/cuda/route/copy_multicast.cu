// Copies into multicast memory: each store goes to the NVLink switch once and reaches the memory of
// every GPU of the team. Only multimem instructions may use such addresses. No header is used.
// Least compute capability: 90
//
// clang-format off
// extern "C" __global__ void railgauge_copy_multicast(target, source, bytes (u64))
//     target[0..bytes) = source[0..bytes), target in multicast memory. Both addresses aligned to 16 bytes, bytes a
//     multiple of 4. Any launch of one-dimensional blocks.
// clang-format on
using Size = unsigned long long;

namespace {

constexpr Size kWordBytes = 16;

// The bits of a float are stored as they are: only float has a form of four words.
__device__ void store(uint4* target, uint4 word) {
  asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(target),
               "f"(__uint_as_float(word.x)), "f"(__uint_as_float(word.y)),
               "f"(__uint_as_float(word.z)), "f"(__uint_as_float(word.w))
               : "memory");
}

__device__ void store(unsigned* target, unsigned word) {
  asm volatile("multimem.st.relaxed.sys.global.u32 [%0], %1;" ::"l"(target), "r"(word) : "memory");
}

// Four loads under way before the first store.
template <class Word>
__device__ void copy_words(Word* target, const Word* source, Size words) {
  const Size step = Size(gridDim.x) * blockDim.x;
  Size i = Size(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < words; i += 4 * step) {
    const Word a = source[i];
    const Word b = source[i + step];
    const Word c = source[i + 2 * step];
    const Word d = source[i + 3 * step];
    store(target + i, a);
    store(target + i + step, b);
    store(target + i + 2 * step, c);
    store(target + i + 3 * step, d);
  }
  for (; i < words; i += step) store(target + i, source[i]);
}

}  // namespace

extern "C" __global__ void railgauge_copy_multicast(unsigned char* target,
                                                    const unsigned char* source, Size bytes) {
  const Size done = bytes / kWordBytes * kWordBytes;
  copy_words(reinterpret_cast<uint4*>(target), reinterpret_cast<const uint4*>(source),
             bytes / kWordBytes);
  copy_words(reinterpret_cast<unsigned*>(target + done),
             reinterpret_cast<const unsigned*>(source + done), (bytes - done) / 4);
}
