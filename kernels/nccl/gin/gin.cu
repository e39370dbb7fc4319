// Communication that a GPU begins itself, by the device side of NCCL's GPU-initiated networking
// (GIN). NCCL gives it as headers that are compiled into the user's kernel, so that this code fits
// libraries of the headers' release alone, or later ones that take it (check_headers).
// Least compute capability: 75
// Needs header: nccl_device/gin.h
//
// clang-format off
// extern "C" __global__ void railgauge_gin_about(Word* about, const ncclDevComm* comm)
//     about[0..2] = the headers' release (22809), the bytes of ncclDevComm, 1 where they have get; about[3], where comm
//     is not null: the kind of its first context, a number of ncclNetDeviceType
//
// extern "C" __global__ void railgauge_gin_ring(
//     const ncclDevComm* comm, ncclWindow_t window,
//     Word send, Word receive, Word bytes,   places in the window, and the payload; 0 bytes: a signal alone
//     Word first,                            rounds of this communicator before
//     unsigned rounds, unsigned numbered,    1: the first and last word of the payload are the round's number
//     Word* cycles, Word* found,             found[0..6]: rounds done, wrong ones, the timer (ns) and the clock at the
//                                            begin, and at the end, and the signals that came to this rank so far
//     const volatile unsigned* stop,         pinned host memory: not 0 ends the kernel
//     Word idle_cycles)                      it ends when a signal did not come for so many clock cycles
//     In each round a token goes from rank 0 to 1, 2, ... and back to 0: a put of `bytes` with a signal. Rank 0 writes
//     the clock cycles of each round to `cycles`.
//
// extern "C" __global__ void railgauge_gin_get(
//     comm, window, Word remote, Word local, Word stride, Word bytes, first, rounds, cycles, found, stop)
//     Get number `first` + i reads `bytes` of rank 1 + that % (ranks - 1), into that rank's place: `local` + stride times
//     (rank - 1). Outside of its time the first and the last word of that place are wiped before each get and read after
//     it: one that still has the wiped word is wrong. Only where the headers have get.
// clang-format on
// One block of one thread.
#include <nccl.h>
#include <nccl_device.h>

using Word = unsigned long long;

namespace {

constexpr ncclGinSignal_t kSignal = 0;
constexpr unsigned kPollsBetweenLooks = 1024;
// A queue of the NIC holds a limited number of requests; a flush takes the ended ones out of it.
constexpr unsigned kRoundsBetweenFlushes = 32;
// No payload has it, but by a chance of 1 in 2^64 a word.
constexpr Word kWiped = 0xa5a5a5a5a5a5a5a5;

__device__ Word timer_ns() {
  Word now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ void begin_span(Word* found) {
  found[2] = timer_ns();
  found[3] = static_cast<Word>(clock64());
}

__device__ void end_span(Word* found, Word done, Word wrong, Word signals) {
  found[4] = timer_ns();
  found[5] = static_cast<Word>(clock64());
  found[0] = done;
  found[1] = wrong;
  found[6] = signals;
}

// Until the signal has come `due` times; false when the kernel shall end before.
__device__ bool wait_for(const ncclGin& gin, Word due, const volatile unsigned* stop,
                         Word idle_cycles) {
  const long long begin = clock64();
  unsigned polls = 0;
  while (gin.readSignal(kSignal) < due) {
    if (++polls < kPollsBetweenLooks) continue;
    polls = 0;
    if (*stop != 0) return false;
    if (static_cast<Word>(clock64() - begin) >= idle_cycles) return false;
  }
  return true;
}

__device__ void pass_on(const ncclGin& gin, ncclTeam world, int next, ncclWindow_t window, Word to,
                        Word from, Word bytes) {
  if (bytes == 0)
    gin.signal(world, next, ncclGin_SignalInc{kSignal});
  else
    gin.put(world, next, window, to, window, from, bytes, ncclGin_SignalInc{kSignal});
}

__device__ volatile Word* word_at(ncclWindow_t window, Word place) {
  return static_cast<volatile Word*>(ncclGetLocalPointer(window, place));
}

__device__ void write_number(ncclWindow_t window, Word place, Word bytes, Word number) {
  *word_at(window, place) = number;
  *word_at(window, place + bytes - sizeof(Word)) = number;
  __threadfence_system();
}

__device__ Word wrong_numbers(ncclWindow_t window, Word place, Word bytes, Word number) {
  const bool first = *word_at(window, place) != number;
  const bool last = *word_at(window, place + bytes - sizeof(Word)) != number;
  return first || last ? 1 : 0;
}

// A flush that returns before the bytes came leaves one of the wiped words.
__device__ Word still_wiped(ncclWindow_t window, Word place, Word bytes) {
  const bool first = *word_at(window, place) == kWiped;
  const bool last = *word_at(window, place + bytes - sizeof(Word)) == kWiped;
  return first || last ? 1 : 0;
}

}  // namespace

extern "C" __global__ void railgauge_gin_about(Word* about, const ncclDevComm* comm) {
  about[0] = NCCL_VERSION_CODE;
  about[1] = sizeof(ncclDevComm);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 3)
  about[2] = 1;
#else
  about[2] = 0;
#endif
  if (comm == nullptr) return;
  const ncclGin gin(*comm, 0);
  about[3] = gin._ginBackend;
}

extern "C" __global__ void railgauge_gin_ring(const ncclDevComm* comm, ncclWindow_t window,
                                              Word send, Word receive, Word bytes, Word first,
                                              unsigned rounds, unsigned numbered, Word* cycles,
                                              Word* found, const volatile unsigned* stop,
                                              Word idle_cycles) {
  const ncclGin gin(*comm, 0);
  const ncclTeam world = ncclTeamWorld(*comm);
  const int next = (comm->rank + 1) % comm->nRanks;
  const bool leads = comm->rank == 0;
  Word wrong = 0;
  unsigned done = 0;
  begin_span(found);
  for (; done < rounds; ++done) {
    const Word due = first + done + 1;
    if (leads && numbered != 0) write_number(window, send, bytes, due);
    const long long begin = clock64();
    if (leads) pass_on(gin, world, next, window, receive, send, bytes);
    if (!wait_for(gin, due, stop, idle_cycles)) break;
    if (leads) cycles[done] = static_cast<Word>(clock64() - begin);
    if (numbered != 0) wrong += wrong_numbers(window, receive, bytes, due);
    if (!leads) pass_on(gin, world, next, window, receive, receive, bytes);
    if ((done + 1) % kRoundsBetweenFlushes == 0) gin.flush(ncclCoopThread());
  }
  if (done == rounds) gin.flush(ncclCoopThread());
  end_span(found, done, wrong, gin.readSignal(kSignal));
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 3)
extern "C" __global__ void railgauge_gin_get(const ncclDevComm* comm, ncclWindow_t window,
                                             Word remote, Word local, Word stride, Word bytes,
                                             Word first, unsigned rounds, Word* cycles, Word* found,
                                             const volatile unsigned* stop) {
  const ncclGin gin(*comm, 0);
  const ncclTeam world = ncclTeamWorld(*comm);
  const Word others = comm->nRanks - 1;
  Word wrong = 0;
  unsigned done = 0;
  begin_span(found);
  for (; done < rounds && *stop == 0; ++done) {
    const Word giver = (first + done) % others;
    const Word place = local + giver * stride;
    write_number(window, place, bytes, kWiped);
    const long long begin = clock64();
    gin.get(world, static_cast<int>(1 + giver), window, remote, window, place, bytes);
    gin.flush(ncclCoopThread());
    cycles[done] = static_cast<Word>(clock64() - begin);
    wrong += still_wiped(window, place, bytes);
  }
  end_span(found, done, wrong, 0);
}
#endif
