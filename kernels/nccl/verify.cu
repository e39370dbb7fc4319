// Input of collectives by a formula of (seed, rank, index), and what their results must be, each
// element computed anew from the formula. No CUDA header is used, so that the PTX stays old; grid-
// stride loops: any launch shape works. The fake driver compiles this very file for the CPU.
//
// Words: `format` is ncclDataType_t's number; `mode` says which values (see kMode... below);
// `source` is the rank whose input arrives, or -1 for the reduction over all `ranks`.
//
// Floating-point input is whole numbers, and at an index only a few neighbouring ranks
// (`contributing` of them; which ones changes with the index) are not zero: so few and small that
// the type holds every partial sum exactly, whatever the order of adding. Only an average over a
// number of ranks that is no power of two is rounded, and has a tolerance. Integers wrap, but for
// an average, which is that of a sum that does not. In 8 bits that is 0 from 128 ranks on.
using Word = unsigned long long;

namespace {

constexpr unsigned kModeCopy = 0;  // all bits of the element, compared bit by bit
constexpr unsigned kModeSum = 1;
// The other modes are reductions; data.cc has the same numbers.
constexpr unsigned kModeProd = 2;
constexpr unsigned kModeMax = 3;
constexpr unsigned kModeMin = 4;
constexpr unsigned kModeAvg = 5;

// ncclDataType_t's numbers of the floating-point types; smaller ones are integers.
constexpr unsigned kFloat16 = 6;
constexpr unsigned kFloat32 = 7;
constexpr unsigned kFloat64 = 8;
constexpr unsigned kBfloat16 = 9;
constexpr unsigned kFloat8e4m3 = 10;
constexpr unsigned kFloat8e5m2 = 11;

constexpr Word kLeastOfEach = 15;  // of integers to average: what a rank's largest is at least

constexpr Word kNoBlock = 0xffffffffULL;
constexpr Word kBlock = 256;  // elements that one first_wrong covers

// A binary floating-point format: bits of exponent and of fraction, and what the input uses of it.
struct Format {
  unsigned exponent_bits;
  unsigned fraction_bits;
  unsigned value_bits;    // input values are 1 ... 2^value_bits - 1
  unsigned contributing;  // ranks that are not zero in a sum; 0: all
};

// The input's bits are chosen so that a sum of the contributing ranks needs no more than the
// fraction's bits and the hidden one.
__device__ Format format_of(unsigned format) {
  if (format == kFloat16) return {5, 10, 8, 8};
  if (format == kFloat32) return {8, 23, 20, 16};
  if (format == kFloat64) return {11, 52, 30, 0};
  if (format == kBfloat16) return {8, 7, 5, 8};
  if (format == kFloat8e5m2) return {5, 2, 3, 1};
  return {4, 3, 4, 1};  // kFloat8e4m3
}

__device__ bool is_floating(unsigned format) { return format >= kFloat16; }

// ncclInt8 and ncclUint8 are 0 and 1, ncclInt64 and ncclUint64 4 and 5.
__device__ unsigned bytes_of(unsigned format) {
  if (format <= 1 || format >= kFloat8e4m3) return 1;
  if (format == kFloat16 || format == kBfloat16) return 2;
  return format == 4 || format == 5 || format == kFloat64 ? 8 : 4;
}

// The finaliser of splitmix64: every input bit reaches every output bit.
__device__ Word mix(Word seed, Word index) {
  Word mixed = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}
__device__ Word mix(Word seed, Word rank, Word index) {
  return mix(mix(seed, rank) ^ 0x5851f42d4c957f2dULL, index);
}

// A double's bits; no header with a cast for that is used here.
union Bits64 {
  double number;
  Word bits;
};

// The number as `format` holds it; it must be representable (all input is), or zero.
__device__ Word encode(double number, unsigned format) {
  Bits64 wide;
  wide.number = number;
  if (format == kFloat64) return wide.bits;
  const Format form = format_of(format);
  if ((wide.bits << 1) == 0) return 0;
  const Word fraction = (wide.bits & 0xfffffffffffffULL) >> (52 - form.fraction_bits);
  const long long bias = (1LL << (form.exponent_bits - 1)) - 1;
  const long long exponent = static_cast<long long>((wide.bits >> 52) & 0x7ffULL) - 1023 + bias;
  const Word sign = (wide.bits >> 63) << (form.exponent_bits + form.fraction_bits);
  return sign | (static_cast<Word>(exponent) << form.fraction_bits) | fraction;
}

// Decodes the bits. Infinities and NaNs become a number that no result has.
__device__ double decode(Word bits, unsigned format) {
  Bits64 wide;
  wide.bits = bits;
  if (format == kFloat64) return wide.number;
  const Format form = format_of(format);
  const Word fraction = bits & ((1ULL << form.fraction_bits) - 1);
  const Word most = (1ULL << form.exponent_bits) - 1;
  const Word exponent = (bits >> form.fraction_bits) & most;
  const bool negative = ((bits >> (form.exponent_bits + form.fraction_bits)) & 1ULL) != 0;
  const long long bias = (1LL << (form.exponent_bits - 1)) - 1;
  // e4m3 has no infinity: only one pattern is no number.
  const bool special = format == kFloat8e4m3 ? exponent == most && fraction == 7 : exponent == most;
  if (special) return -1e300;
  const bool subnormal = exponent == 0;
  const double significand =
      static_cast<double>(fraction | (subnormal ? 0 : 1ULL << form.fraction_bits));
  long long power = (subnormal ? 1 : static_cast<long long>(exponent)) - bias -
                    static_cast<long long>(form.fraction_bits);
  wide.bits = static_cast<Word>(power + 1023) << 52;
  const double magnitude = significand * wide.number;
  return negative ? -magnitude : magnitude;
}

// All bits of an element of that size.
__device__ Word integer_mask(unsigned format) {
  const unsigned bytes = bytes_of(format);
  return bytes == 8 ? ~0ULL : (1ULL << (8 * bytes)) - 1;
}

// How far behind the first contributing rank of this index `rank` comes.
__device__ Word place_of(Word seed, Word ranks, Word rank, Word index) {
  return (rank + ranks - mix(seed ^ 0x2545f4914f6cdd1dULL, index) % ranks) % ranks;
}

// For an average the sum must fit the type. With 8 bits each of many ranks has little room: there
// one rank contributes all, another one at each index.
__device__ Word integer_value(unsigned format, unsigned mode, Word seed, Word ranks, Word rank,
                              Word index) {
  const Word hash = mix(seed, rank, index);
  if (mode != kModeAvg) return hash & integer_mask(format);
  const Word most = integer_mask(format) >> 1;  // of a signed type
  if (most / ranks >= kLeastOfEach) return hash % (most / ranks + 1);
  return place_of(seed, ranks, rank, index) == 0 ? hash % (most + 1) : 0;
}

// One element of a rank's input as a number. Whole numbers keep every order of adding exact.
__device__ double floating_value(unsigned format, unsigned mode, Word seed, Word ranks, Word rank,
                                 Word index) {
  const Format form = format_of(format);
  const Word hash = mix(seed, rank, index);
  const double value = static_cast<double>(1 + hash % ((1ULL << form.value_bits) - 1));
  const Word place = place_of(seed, ranks, rank, index);
  if (mode == kModeProd) {  // one rank brings its digits, three a power of two: exact in any order
    if (place == 0) return value;
    if (place > 3) return 1;
    const Word choice = (hash >> 40) % 3;
    return choice == 0 ? 0.5 : choice == 1 ? 1 : 2;
  }
  if (mode == kModeMax || mode == kModeMin) return value;
  return form.contributing != 0 && place >= form.contributing ? 0 : value;
}

// The bits of one element of `rank`'s input.
__device__ Word input(unsigned format, unsigned mode, Word seed, Word ranks, Word rank,
                      Word index) {
  if (mode == kModeCopy) return mix(seed, rank, index) & integer_mask(format);
  if (!is_floating(format)) return integer_value(format, mode, seed, ranks, rank, index);
  return encode(floating_value(format, mode, seed, ranks, rank, index), format);
}

// Extends the sign of an element to 64 bits.
__device__ long long as_signed(Word bits, unsigned format) {
  const unsigned unused = 64 - 8 * bytes_of(format);
  return static_cast<long long>(bits << unused) >> unused;
}

// Whether a is greater than b in the type's own order.
__device__ bool above(Word a, Word b, unsigned format) {
  const bool is_signed = format == 0 || format == 2 || format == 4;
  return is_signed ? as_signed(a, format) > as_signed(b, format) : a > b;
}

// The result over all ranks; sums and products wrap as the type does.
__device__ Word reduced_integer(unsigned format, unsigned mode, Word seed, Word ranks, Word index) {
  Word result = input(format, mode, seed, ranks, 0, index);
  for (Word rank = 1; rank < ranks; ++rank) {
    const Word next = input(format, mode, seed, ranks, rank, index);
    if (mode == kModeProd) {
      result *= next;
    } else if (mode == kModeMax) {
      if (above(next, result, format)) result = next;
    } else if (mode == kModeMin) {
      if (above(result, next, format)) result = next;
    } else {
      result += next;
    }
  }
  if (mode == kModeAvg) result /= ranks;
  return result & integer_mask(format);
}

// A value and how far a result may be from it.
struct Expected {
  double value;
  double tolerance;
};

// In double, which holds every partial sum exactly.
__device__ Expected reduced_floating(unsigned format, unsigned mode, Word seed, Word ranks,
                                     Word index) {
  double result = floating_value(format, mode, seed, ranks, 0, index);
  for (Word rank = 1; rank < ranks; ++rank) {
    const double next = floating_value(format, mode, seed, ranks, rank, index);
    if (mode == kModeProd) {
      result *= next;
    } else if (mode == kModeMax) {
      result = next > result ? next : result;
    } else if (mode == kModeMin) {
      result = next < result ? next : result;
    } else {
      result += next;  // exact: far below 2^53
    }
  }
  if (mode != kModeAvg) return {result, 0};
  const Format form = format_of(format);
  result /= static_cast<double>(ranks);
  if ((ranks & (ranks - 1)) == 0) return {result, 0};
  // 1/ranks, each product with it and each add round by at most half a unit of the last place;
  // twice that.
  const Word terms =
      form.contributing != 0 && form.contributing < ranks ? form.contributing : ranks;
  const double unit = 1.0 / static_cast<double>(1ULL << form.fraction_bits);
  return {result, result * static_cast<double>(terms + 1) * unit};
}

// One element's bits. NCCL's buffers are aligned to the element.
__device__ Word load(const unsigned char* memory, unsigned format, Word index) {
  const unsigned bytes = bytes_of(format);
  if (bytes == 1) return memory[index];
  if (bytes == 2) return reinterpret_cast<const unsigned short*>(memory)[index];
  if (bytes == 4) return reinterpret_cast<const unsigned*>(memory)[index];
  return reinterpret_cast<const Word*>(memory)[index];
}

__device__ void store(unsigned char* memory, unsigned format, Word index, Word bits) {
  const unsigned bytes = bytes_of(format);
  if (bytes == 1)
    memory[index] = static_cast<unsigned char>(bits);
  else if (bytes == 2)
    reinterpret_cast<unsigned short*>(memory)[index] = static_cast<unsigned short>(bits);
  else if (bytes == 4)
    reinterpret_cast<unsigned*>(memory)[index] = static_cast<unsigned>(bits);
  else
    reinterpret_cast<Word*>(memory)[index] = bits;
}

// The loop of a thread: from its number on, in steps of the grid.
__device__ Word first_index() { return Word(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ Word stride() { return Word(gridDim.x) * blockDim.x; }

// The contents that a range must have.
struct Question {
  unsigned format;
  unsigned mode;
  Word seed;
  Word ranks;
  long long source;
};

// Whether `seen` is what must be at `index`; its bits (or, where a tolerance holds, a double's).
__device__ bool right(const Question& asked, Word index, Word seen, Word* expected) {
  if (asked.source >= 0 || !is_floating(asked.format)) {
    *expected = asked.source >= 0
                    ? input(asked.format, asked.mode, asked.seed, asked.ranks,
                            static_cast<Word>(asked.source), index)
                    : reduced_integer(asked.format, asked.mode, asked.seed, asked.ranks, index);
    return seen == *expected;
  }
  const Expected wanted =
      reduced_floating(asked.format, asked.mode, asked.seed, asked.ranks, index);
  const double off = decode(seen, asked.format) - wanted.value;
  Bits64 wide;
  wide.number = wanted.value;
  *expected = wide.bits;
  return off <= wanted.tolerance && -off <= wanted.tolerance;
}

}  // namespace

// memory[i] = input of `rank` at first + i, for `count` elements.
extern "C" __global__ void railgauge_nccl_fill(unsigned char* memory, Word count, unsigned format,
                                               unsigned mode, Word seed, Word ranks, Word rank,
                                               Word first) {
  for (Word i = first_index(); i < count; i += stride())
    store(memory, format, i, input(format, mode, seed, ranks, rank, first + i));
}

// Lowers *first_wrong to the number of the first block of 256 elements with a wrong one; it starts
// at 0xffffffff: nothing is wrong.
extern "C" __global__ void railgauge_nccl_check(const unsigned char* memory, Word count,
                                                unsigned format, unsigned mode, Word seed,
                                                Word ranks, long long source, Word first,
                                                unsigned* first_wrong) {
  const Question asked = {format, mode, seed, ranks, source};
  Word wrong = kNoBlock;
  for (Word i = first_index(); i < count && wrong == kNoBlock; i += stride()) {
    Word expected = 0;
    if (!right(asked, first + i, load(memory, format, i), &expected)) wrong = i / kBlock;
  }
  if (wrong != kNoBlock) atomicMin(first_wrong, unsigned(wrong));
}

// By one thread: the first wrong element of the block; found[0] its index + 1 (0: none is wrong any
// more), found[1] what must be there, found[2] what is. Floating-point numbers as doubles' bits.
extern "C" __global__ void railgauge_nccl_tell(const unsigned char* memory, Word count,
                                               unsigned format, unsigned mode, Word seed,
                                               Word ranks, long long source, Word first, Word block,
                                               Word* found) {
  if (first_index() != 0) return;
  const Question asked = {format, mode, seed, ranks, source};
  found[0] = 0;
  const Word end = (block + 1) * kBlock < count ? (block + 1) * kBlock : count;
  for (Word i = block * kBlock; i < end; ++i) {
    Word expected = 0;
    const Word seen = load(memory, format, i);
    if (right(asked, first + i, seen, &expected)) continue;
    Bits64 wide;
    wide.number = is_floating(format) ? decode(seen, format) : 0;
    found[0] = i + 1;
    found[1] = expected;
    found[2] = asked.source < 0 && is_floating(format) ? wide.bits : seen;
    return;
  }
}
