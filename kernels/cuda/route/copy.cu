// Copies by the GPU's own threads (SM copies). No header is used, so that the PTX stays old.
// Grid-stride loops: any launch shape with whole warps works.
//
// clang-format off
// | function | arguments | what it does |
// |---|---|---|
// | railgauge_copy | target, source, bytes (u64) | target[0..bytes) = source[0..bytes); any alignment, 16 is fast |
// | railgauge_copy_both | a, b, bytes (u64) | in units of 512 bytes: odd ones a to b, even ones b to a; aligned to 16, bytes a multiple of 512 |
// | railgauge_copy_both_again | a, b, bytes (u64), times (u32) | as copy_both, each thread moves its word `times` times before the next one |
// | railgauge_clear_units | memory, bytes (u64), parity (u32) | zeroes the units of 512 bytes whose number is odd (1) or even (0); as copy_both |
// clang-format on
using Size = unsigned long long;

namespace {

constexpr Size kWordBytes = 16;
constexpr Size kUnitWords = 32;  // a warp's 16-byte words: copy_both alternates by warp

__device__ Size first_index() { return Size(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Size stride() { return Size(gridDim.x) * blockDim.x; }

// Four loads under way before the first store.
template <class Word>
__device__ void copy_words(Word* target, const Word* source, Size words) {
  const Size step = stride();
  Size i = first_index();
  for (; i + 3 * step < words; i += 4 * step) {
    const Word a = source[i];
    const Word b = source[i + step];
    const Word c = source[i + 2 * step];
    const Word d = source[i + 3 * step];
    target[i] = a;
    target[i + step] = b;
    target[i + 2 * step] = c;
    target[i + 3 * step] = d;
  }
  for (; i < words; i += step) target[i] = source[i];
}

}  // namespace

extern "C" __global__ void railgauge_copy(unsigned char* target, const unsigned char* source,
                                          Size bytes) {
  const Size misaligned = (Size(target) | Size(source)) % kWordBytes;
  Size done = 0;
  if (misaligned == 0) {
    copy_words(reinterpret_cast<uint4*>(target), reinterpret_cast<const uint4*>(source),
               bytes / kWordBytes);
    done = bytes / kWordBytes * kWordBytes;
  } else if (misaligned % 4 == 0) {
    copy_words(reinterpret_cast<unsigned*>(target), reinterpret_cast<const unsigned*>(source),
               bytes / 4);
    done = bytes / 4 * 4;
  }
  copy_words(target + done, source + done, bytes - done);
}

extern "C" __global__ void railgauge_copy_both(uint4* a, uint4* b, Size bytes) {
  const Size words = bytes / kWordBytes;
  for (Size i = first_index(); i < words; i += stride()) {
    if ((i / kUnitWords) % 2 != 0)
      b[i] = a[i];
    else
      a[i] = b[i];
  }
}

// Past the first-level cache, or the second time would not leave the multiprocessor.
extern "C" __global__ void railgauge_copy_both_again(uint4* a, uint4* b, Size bytes,
                                                     unsigned times) {
  const Size words = bytes / kWordBytes;
  for (Size i = first_index(); i < words; i += stride()) {
    const bool odd = (i / kUnitWords) % 2 != 0;
    const uint4* source = odd ? a + i : b + i;
    uint4* target = odd ? b + i : a + i;
    for (unsigned time = 0; time < times; ++time) {
      uint4 word;
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                   : "l"(source)
                   : "memory");
      asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(target), "r"(word.x),
                   "r"(word.y), "r"(word.z), "r"(word.w)
                   : "memory");
    }
  }
}

extern "C" __global__ void railgauge_clear_units(uint4* memory, Size bytes, unsigned parity) {
  const Size words = bytes / kWordBytes;
  for (Size i = first_index(); i < words; i += stride())
    if ((i / kUnitWords) % 2 == parity) memory[i] = make_uint4(0, 0, 0, 0);
}
