// A GPU that answers flags: one thread polls a word of its own memory, which the CPU writes through
// the BAR or a NIC from elsewhere, and answers into pinned host memory, which the CPU polls. No
// header is used, so that the PTX stays old.
//
// clang-format off
// extern "C" __global__ void railgauge_answer_flags(
//     const volatile unsigned* flag,     GPU memory: gets `first`, `first` + 1, ... in turn
//     volatile unsigned* answer,         pinned host memory: gets `first` - 1 when the thread runs, then each value
//                                        of `flag` in turn
//     const volatile unsigned* stop,     pinned host memory: not 0 ends the kernel
//     unsigned first, unsigned rounds,   it ends after the answer `first` + `rounds` - 1
//     unsigned long long idle_cycles)    it ends when the flag did not come for so many clock cycles
//
// extern "C" __global__ void railgauge_answer_gated(
//     const volatile unsigned* gate,     pinned host memory: the CPU lets the thread on to `first`, `first` + 1, ...
//     const volatile unsigned* flag,     GPU memory: holds the same by then, or the message before is still seen
//     volatile unsigned* answer,         as above
//     volatile unsigned* stale,          pinned host memory: counts the looks at `flag` that saw another value
//     stop, first, rounds, idle_cycles)  as above
//
// extern "C" __global__ void railgauge_pass_data(
//     flag, answer, stop                 as above; flag and answer may be in either memory
//     volatile unsigned* data,           `words` words, in either memory
//     unsigned words,
//     unsigned writes,                   1: the threads write the words of the value before they answer; 0: they compare
//     volatile unsigned* wrong,          pinned host memory: the words that differed so far
//     first, rounds, idle_cycles)        as above
// clang-format on
// One block of one thread, railgauge_pass_data of up to 1024. It always ends: by the rounds, by
// `stop`, or by the clock.

namespace {

// Between two looks at `stop` and the clock: a look at host memory costs a trip over PCIe.
constexpr unsigned kPollsBetweenLooks = 4096;

// Until `*word` is `expected`; false when the kernel shall end before.
__device__ bool wait_for(const volatile unsigned* word, unsigned expected,
                         const volatile unsigned* stop, unsigned long long idle_cycles) {
  const long long begin = clock64();
  unsigned polls = 0;
  while (*word != expected) {
    if (++polls < kPollsBetweenLooks) continue;
    polls = 0;
    if (*stop != 0) return false;
    if (static_cast<unsigned long long>(clock64() - begin) >= idle_cycles) return false;
  }
  return true;
}

// Word `index` of the data of `value`: each value of kTurns in a row has other words everywhere.
// The CPU has them in one array, from which each value takes its part
// (kernels/gpu/answering_gpu.h).
__device__ unsigned data_word(unsigned value, unsigned index) {
  constexpr unsigned kTurns = 64;
  constexpr unsigned kWordsOfTurn = 16;
  return (value % kTurns * kWordsOfTurn + index + 1) * 2654435761U;
}

}  // namespace

extern "C" __global__ void railgauge_answer_flags(const volatile unsigned* flag,
                                                  volatile unsigned* answer,
                                                  const volatile unsigned* stop, unsigned first,
                                                  unsigned rounds, unsigned long long idle_cycles) {
  *answer = first - 1;
  for (unsigned round = 0; round < rounds; ++round) {
    if (!wait_for(flag, first + round, stop, idle_cycles)) return;
    *answer = first + round;
  }
}

extern "C" __global__ void railgauge_answer_gated(const volatile unsigned* gate,
                                                  const volatile unsigned* flag,
                                                  volatile unsigned* answer,
                                                  volatile unsigned* stale,
                                                  const volatile unsigned* stop, unsigned first,
                                                  unsigned rounds, unsigned long long idle_cycles) {
  unsigned wrong = 0;
  *answer = first - 1;
  for (unsigned round = 0; round < rounds; ++round) {
    if (!wait_for(gate, first + round, stop, idle_cycles)) return;
    __threadfence_system();  // the flag is looked at after the gate
    if (*flag != first + round) *stale = ++wrong;
    __threadfence_system();  // the count is there before the answer
    *answer = first + round;
  }
}

// Volatile accesses go past the multiprocessor's own cache, which a write from outside leaves
// stale.
extern "C" __global__ void railgauge_pass_data(
    const volatile unsigned* flag, volatile unsigned* answer, const volatile unsigned* stop,
    volatile unsigned* data, unsigned words, unsigned writes, volatile unsigned* wrong,
    unsigned first, unsigned rounds, unsigned long long idle_cycles) {
  __shared__ unsigned came;
  __shared__ unsigned differed;
  if (threadIdx.x == 0) {
    differed = 0;
    *answer = first - 1;
  }
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned value = first + round;
    if (threadIdx.x == 0) {
      came = wait_for(flag, value, stop, idle_cycles) ? 1 : 0;
      __threadfence_system();  // the data are looked at after the flag
    }
    __syncthreads();
    if (came == 0) return;
    unsigned other = 0;
    for (unsigned index = threadIdx.x; index < words; index += blockDim.x) {
      if (writes != 0)
        data[index] = data_word(value, index);
      else if (data[index] != data_word(value, index))
        ++other;
    }
    if (other != 0) atomicAdd(&differed, other);
    __threadfence_system();  // the data are there before the answer
    __syncthreads();
    if (threadIdx.x != 0) continue;
    if (differed != 0) *wrong = differed;
    __threadfence_system();
    *answer = value;
  }
}
