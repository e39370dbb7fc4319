// The seeded pattern of kernels/memory/host_buffer.h on the GPU: fill, and compare. No header is
// used, so that the PTX stays old. Grid-stride loops: any launch shape works.
using Word = unsigned long long;

namespace {

__device__ Word pattern_word(Word seed, Word index) {
  Word mixed = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

__device__ Word first_index() { return Word(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Word stride() { return Word(gridDim.x) * blockDim.x; }

}  // namespace

// `words` whole words from `out`, which is aligned to 8 bytes, then `tail_bytes` (below 8) more.
extern "C" __global__ void railgauge_fill(Word* out, Word words, unsigned tail_bytes, Word seed) {
  for (Word i = first_index(); i < words; i += stride()) out[i] = pattern_word(seed, i);
  if (first_index() < tail_bytes) {
    const unsigned at = unsigned(first_index());
    reinterpret_cast<unsigned char*>(out + words)[at] =
        static_cast<unsigned char>(pattern_word(seed, words) >> (8 * at));
  }
}

// Lowers *first_wrong to the index of the first byte that differs, counted in words (the tail is
// word `words`). It starts at 0xffffffff: nothing differs. Buffers reach 32 GiB so.
extern "C" __global__ void railgauge_compare(const Word* in, Word words, unsigned tail_bytes,
                                             Word seed, unsigned* first_wrong) {
  unsigned wrong = 0xffffffffU;
  for (Word i = first_index(); i < words && wrong == 0xffffffffU; i += stride())
    if (in[i] != pattern_word(seed, i)) wrong = unsigned(i);
  if (first_index() < tail_bytes) {
    const unsigned at = unsigned(first_index());
    const unsigned char expected =
        static_cast<unsigned char>(pattern_word(seed, words) >> (8 * at));
    if (reinterpret_cast<const unsigned char*>(in + words)[at] != expected && wrong > words)
      wrong = unsigned(words);
  }
  if (wrong != 0xffffffffU) atomicMin(first_wrong, wrong);
}
