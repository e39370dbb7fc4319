// An MPI that corrupts, drops, repeats or swaps one message of many, for tests: preloaded, it gives
// the runner these functions in place of the library's of the same names. It acts on one rank:
// where messages arrive, and for MPI_Put where they leave. Compiled for each MPI with its own
// <mpi.h>; it links none.
//
// Variables: RAILGAUGE_FAULT (corrupt, dropped, repeated, swapped; slow_test: MPI_Test takes 2 ms),
// RAILGAUGE_FAULT_RANK, RAILGAUGE_FAULT_BYTES (length of the messages that count, which no order of
// ours has) and RAILGAUGE_FAULT_EVERY. MPI is used from one thread.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <dlfcn.h>
#include <mpi.h>
#include <time.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}
std::size_t number(const char* name) {
  const std::string value = setting(name);
  return value.empty() ? 0 : std::stoull(value);
}

// Either launcher's.
bool is_faulty_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const std::string rank = setting(name); !rank.empty())
      return rank == setting("RAILGAUGE_FAULT_RANK");
  return false;
}

struct Plan {
  std::string fault = is_faulty_rank() ? setting("RAILGAUGE_FAULT") : "";
  std::size_t every = number("RAILGAUGE_FAULT_EVERY");
  std::size_t bytes = number("RAILGAUGE_FAULT_BYTES");
  std::size_t counted = 0;

  [[nodiscard]] bool counts(std::size_t length) const { return !fault.empty() && length == bytes; }
  bool suffers() { return ++counted % every == 0; }
};
Plan& plan() {
  static Plan one;
  return one;
}

// Places where messages arrive until the call that completes them, in their order.
struct Arrival {
  unsigned char* to = nullptr;
  std::size_t bytes = 0;
  bool suffers = false;
  Bytes untouched;  // what was there before, of one that suffers
};
std::vector<Arrival> g_arrivals;
Bytes g_before;  // the message before
Bytes g_late;    // one that comes in the next one's place

// `message` is the length that counts, `bytes` all that arrives at this rank.
void expect(void* to, std::size_t bytes, std::size_t message) {
  if (!plan().counts(message) || bytes == 0) return;
  Arrival one{static_cast<unsigned char*>(to), bytes, plan().suffers(), {}};
  if (one.suffers) one.untouched.assign(one.to, one.to + bytes);
  g_arrivals.push_back(std::move(one));
}

void write(const Arrival& to, const Bytes& content) {
  if (content.size() == to.bytes) std::memcpy(to.to, content.data(), content.size());
}

// All that arrives is in its place now. A swapped one changes places with the next one of the same
// call; where that comes with a later call, it is late.
void arrived() {
  const std::string& fault = plan().fault;
  for (std::size_t i = 0; i < g_arrivals.size(); ++i) {
    const Arrival& one = g_arrivals[i];
    Bytes own(one.to, one.to + one.bytes);
    if (!g_late.empty()) {
      write(one, g_late);
      g_late.clear();
    } else if (one.suffers && fault == "corrupt") {
      one.to[one.bytes / 2] ^= 0x40;
    } else if (one.suffers && fault == "dropped") {
      write(one, one.untouched);
    } else if (one.suffers && fault == "repeated") {
      write(one, g_before);
    } else if (one.suffers && fault == "swapped") {
      const bool has_next = i + 1 < g_arrivals.size();
      write(one, has_next ? Bytes(g_arrivals[i + 1].to, g_arrivals[i + 1].to + one.bytes)
                          : one.untouched);
      if (has_next)
        write(g_arrivals[i + 1], own);
      else
        g_late = own;
      if (has_next) ++i;
    }
    g_before = std::move(own);
  }
  g_arrivals.clear();
}

// The library's own functions, as the runner asked for them.
void* g_library = nullptr;
using Find = void* (*)(void*, const char*);
Find find_function() {
  static const auto kFind = reinterpret_cast<Find>([] {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"})
      if (void* found = dlvsym(RTLD_NEXT, "dlsym", version); found != nullptr) return found;
    std::abort();
  }());
  return kFind;
}
template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(find_function()(g_library, name));
}
// NOLINTNEXTLINE(bugprone-macro-parentheses): decltype of a name in parentheses is a reference
#define RAILGAUGE_REAL(symbol) (real<decltype(&symbol)>(#symbol))

std::size_t length_of(int count, MPI_Datatype type) {
  static const auto kSize = RAILGAUGE_REAL(MPI_Type_size);
  int bytes = 0;
  kSize(type, &bytes);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes);
}
int ranks() {
  static const int kRanks =
      std::atoi(setting(setting("PMI_SIZE").empty() ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE").c_str());
  return kRanks;
}
int own_rank() {
  static const int kRank =
      std::atoi(setting(setting("PMI_RANK").empty() ? "OMPI_COMM_WORLD_RANK" : "PMI_RANK").c_str());
  return kRank;
}

int faulty_recv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                MPI_Status* status) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Recv);
  expect(to, length_of(count, type), length_of(count, type));
  const int done = kReal(to, count, type, from, tag, comm, status);
  arrived();
  return done;
}
int faulty_irecv(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Irecv);
  expect(to, length_of(count, type), length_of(count, type));
  return kReal(to, count, type, from, tag, comm, request);
}
int faulty_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Waitall);
  const int done = kReal(count, requests, statuses);
  arrived();
  return done;
}
int faulty_bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Bcast);
  if (own_rank() != root) expect(data, length_of(count, type), length_of(count, type));
  const int done = kReal(data, count, type, root, comm);
  arrived();
  return done;
}
int faulty_allgather(const void* data, int count, MPI_Datatype type, void* all, int count_each,
                     MPI_Datatype type_each, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Allgather);
  const std::size_t one = length_of(count, type);
  expect(all, one * static_cast<std::size_t>(ranks()), one);
  const int done = kReal(data, count, type, all, count_each, type_each, comm);
  arrived();
  return done;
}
int faulty_alltoall(const void* data, int count, MPI_Datatype type, void* all, int count_each,
                    MPI_Datatype type_each, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Alltoall);
  const std::size_t one = length_of(count, type);
  expect(all, one * static_cast<std::size_t>(ranks()), one);
  const int done = kReal(data, count, type, all, count_each, type_each, comm);
  arrived();
  return done;
}
int faulty_reduce(const void* data, void* sum, int count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Reduce);
  if (own_rank() == root) expect(sum, length_of(count, type), length_of(count, type));
  const int done = kReal(data, sum, count, type, op, root, comm);
  arrived();
  return done;
}
int faulty_allreduce(const void* data, void* sum, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Allreduce);
  expect(sum, length_of(count, type), length_of(count, type));
  const int done = kReal(data, sum, count, type, op, comm);
  arrived();
  return done;
}
// Two ranks' parts are halves: what counts is the whole message.
int faulty_reduce_scatter(const void* data, void* sum, const int* counts, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Reduce_scatter);
  int all = 0;
  for (int rank = 0; rank < ranks(); ++rank) all += counts[rank];
  expect(sum, length_of(counts[own_rank()], type), length_of(all, type));
  const int done = kReal(data, sum, counts, type, op, comm);
  arrived();
  return done;
}

// The collectives whose counts are an argument each, or one for each rank.
int faulty_gather(const void* data, int count, MPI_Datatype type, void* all, int count_each,
                  MPI_Datatype type_each, int root, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Gather);
  const std::size_t one = length_of(count, type);
  if (own_rank() == root) expect(all, one * static_cast<std::size_t>(ranks()), one);
  const int done = kReal(data, count, type, all, count_each, type_each, root, comm);
  arrived();
  return done;
}
int faulty_gatherv(const void* data, int count, MPI_Datatype type, void* all, const int* counts,
                   const int* places, MPI_Datatype type_each, int root, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Gatherv);
  const std::size_t one = length_of(count, type);
  if (own_rank() == root) expect(all, one * static_cast<std::size_t>(ranks()), one);
  const int done = kReal(data, count, type, all, counts, places, type_each, root, comm);
  arrived();
  return done;
}
int faulty_scatter(const void* data, int count, MPI_Datatype type, void* own, int count_own,
                   MPI_Datatype type_own, int root, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Scatter);
  expect(own, length_of(count_own, type_own), length_of(count_own, type_own));
  const int done = kReal(data, count, type, own, count_own, type_own, root, comm);
  arrived();
  return done;
}
int faulty_scatterv(const void* data, const int* counts, const int* places, MPI_Datatype type,
                    void* own, int count_own, MPI_Datatype type_own, int root, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Scatterv);
  expect(own, length_of(count_own, type_own), length_of(count_own, type_own));
  const int done = kReal(data, counts, places, type, own, count_own, type_own, root, comm);
  arrived();
  return done;
}
int faulty_allgatherv(const void* data, int count, MPI_Datatype type, void* all, const int* counts,
                      const int* places, MPI_Datatype type_each, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Allgatherv);
  const std::size_t one = length_of(count, type);
  expect(all, one * static_cast<std::size_t>(ranks()), one);
  const int done = kReal(data, count, type, all, counts, places, type_each, comm);
  arrived();
  return done;
}
int faulty_alltoallv(const void* data, const int* counts, const int* places, MPI_Datatype type,
                     void* all, const int* counts_in, const int* places_in, MPI_Datatype type_in,
                     MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Alltoallv);
  const std::size_t one = length_of(counts_in[0], type_in);
  expect(all, one * static_cast<std::size_t>(ranks()), one);
  const int done = kReal(data, counts, places, type, all, counts_in, places_in, type_in, comm);
  arrived();
  return done;
}
int faulty_neighbor_allgather(const void* data, int count, MPI_Datatype type, void* all,
                              int count_each, MPI_Datatype type_each, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Neighbor_allgather);
  const std::size_t one = length_of(count, type);
  expect(all, one, one);
  const int done = kReal(data, count, type, all, count_each, type_each, comm);
  arrived();
  return done;
}
// A call that begins and one that ends.
int faulty_iallreduce(const void* data, void* sum, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Request* request) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Iallreduce);
  expect(sum, length_of(count, type), length_of(count, type));
  return kReal(data, sum, count, type, op, comm, request);
}
int faulty_wait(MPI_Request* request, MPI_Status* status) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Wait);
  const int done = kReal(request, status);
  arrived();
  return done;
}

// A rank's block of the sum; what counts is the whole message.
int faulty_reduce_scatter_block(const void* data, void* sum, int count, MPI_Datatype type,
                                MPI_Op op, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Reduce_scatter_block);
  expect(sum, length_of(count, type), length_of(count * ranks(), type));
  const int done = kReal(data, sum, count, type, op, comm);
  arrived();
  return done;
}
// Blocks of equal length, as the kernel has them by default.
int faulty_alltoallw(const void* data, const int* counts, const int* places,
                     const MPI_Datatype* types, void* all, const int* counts_in,
                     const int* places_in, const MPI_Datatype* types_in, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Alltoallw);
  const std::size_t one = length_of(counts_in[0], types_in[0]);
  expect(all, one * static_cast<std::size_t>(ranks()), one);
  const int done = kReal(data, counts, places, types, all, counts_in, places_in, types_in, comm);
  arrived();
  return done;
}
// Two ranks have one neighbour each.
int faulty_neighbor_alltoall(const void* data, int count, MPI_Datatype type, void* all,
                             int count_each, MPI_Datatype type_each, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Neighbor_alltoall);
  expect(all, length_of(count_each, type_each), length_of(count_each, type_each));
  const int done = kReal(data, count, type, all, count_each, type_each, comm);
  arrived();
  return done;
}
// The same with counts and places.
int faulty_neighbor_alltoallv(const void* data, const int* counts, const int* places,
                              MPI_Datatype type, void* all, const int* counts_in,
                              const int* places_in, MPI_Datatype type_in, MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Neighbor_alltoallv);
  expect(all, length_of(counts_in[0], type_in), length_of(counts_in[0], type_in));
  const int done = kReal(data, counts, places, type, all, counts_in, places_in, type_in, comm);
  arrived();
  return done;
}
int faulty_neighbor_allgatherv(const void* data, int count, MPI_Datatype type, void* all,
                               const int* counts, const int* places, MPI_Datatype type_each,
                               MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Neighbor_allgatherv);
  expect(all, length_of(counts[0], type_each), length_of(counts[0], type_each));
  const int done = kReal(data, count, type, all, counts, places, type_each, comm);
  arrived();
  return done;
}
int faulty_neighbor_alltoallw(const void* data, const int* counts, const MPI_Aint* places,
                              const MPI_Datatype* types, void* all, const int* counts_in,
                              const MPI_Aint* places_in, const MPI_Datatype* types_in,
                              MPI_Comm comm) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Neighbor_alltoallw);
  expect(all, length_of(counts_in[0], types_in[0]), length_of(counts_in[0], types_in[0]));
  const int done = kReal(data, counts, places, types, all, counts_in, places_in, types_in, comm);
  arrived();
  return done;
}
// The call that begins; MPI_Wait completes it.
int faulty_ialltoall(const void* data, int count, MPI_Datatype type, void* all, int count_each,
                     MPI_Datatype type_each, MPI_Comm comm, MPI_Request* request) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Ialltoall);
  const std::size_t one = length_of(count, type);
  expect(all, one * static_cast<std::size_t>(ranks()), one);
  return kReal(data, count, type, all, count_each, type_each, comm, request);
}

// A request that is made once: where each start's message arrives.
struct Made {
  void* to = nullptr;
  std::size_t bytes = 0;
};
Made g_made;

int faulty_recv_init(void* to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request* request) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Recv_init);
  g_made = {to, length_of(count, type)};
  return kReal(to, count, type, from, tag, comm, request);
}
// The second one of a ping-pong's two requests receives, and is started alone.
int faulty_startall(int count, MPI_Request* requests) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Startall);
  static int starts = 0;
  // The rank that receives first starts the receive at every even number.
  if (starts++ % 2 == (own_rank() == 0 ? 1 : 0)) expect(g_made.to, g_made.bytes, g_made.bytes);
  return kReal(count, requests);
}

// A library that is busy in MPI_Test, for tests of the overlap.
int slow_test(MPI_Request* request, int* done, MPI_Status* status) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Test);
  static const timespec kBusy{0, 2'000'000};
  nanosleep(&kBusy, nullptr);
  return kReal(request, done, status);
}

// Calls that change the memory of another rank: one that is lost, comes twice, or has another
// value.
template <class Call>
int change(std::size_t bytes, const void* data, Call call) {
  if (!plan().counts(bytes) || !plan().suffers()) return call(data);
  const std::string& fault = plan().fault;
  if (fault == "dropped") return MPI_SUCCESS;
  if (fault == "repeated") call(data);
  if (fault != "corrupt") return call(data);
  static std::deque<Bytes> kept;
  const auto* begin = static_cast<const unsigned char*>(data);
  kept.emplace_back(begin, begin + bytes);
  kept.back()[bytes / 2] ^= 0x40;
  return call(kept.back().data());
}
// The operand of each of these is read until the flush: a changed copy is kept.
int faulty_accumulate(const void* data, int count, MPI_Datatype type, int to, MPI_Aint at,
                      int count_there, MPI_Datatype type_there, MPI_Op op, MPI_Win window) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Accumulate);
  return change(length_of(count, type), data, [&](const void* own) {
    return kReal(own, count, type, to, at, count_there, type_there, op, window);
  });
}
int faulty_get_accumulate(const void* data, int count, MPI_Datatype type, void* before,
                          int count_before, MPI_Datatype type_before, int to, MPI_Aint at,
                          int count_there, MPI_Datatype type_there, MPI_Op op, MPI_Win window) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Get_accumulate);
  return change(length_of(count, type), data, [&](const void* own) {
    return kReal(own, count, type, before, count_before, type_before, to, at, count_there,
                 type_there, op, window);
  });
}
int faulty_fetch_and_op(const void* data, void* before, MPI_Datatype type, int to, MPI_Aint at,
                        MPI_Op op, MPI_Win window) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Fetch_and_op);
  return change(length_of(1, type), data,
                [&](const void* own) { return kReal(own, before, type, to, at, op, window); });
}
int faulty_compare_and_swap(const void* data, const void* expected, void* before, MPI_Datatype type,
                            int to, MPI_Aint at, MPI_Win window) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Compare_and_swap);
  return change(length_of(1, type), data, [&](const void* own) {
    return kReal(own, expected, before, type, to, at, window);
  });
}

// Memory that MPI_Put reads until the flush, where it is not the caller's memory.
std::deque<Bytes> g_sent;
// A put that waits for the next one: what it would have written, and where.
struct LatePut {
  Bytes content;
  MPI_Aint at = 0;
};
std::optional<LatePut> g_late_put;

int faulty_put(const void* data, int count, MPI_Datatype type, int to, MPI_Aint at, int count_there,
               MPI_Datatype type_there, MPI_Win window) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Put);
  const std::size_t bytes = length_of(count, type);
  const auto put = [&](Bytes content, MPI_Aint place) {
    g_sent.push_back(std::move(content));
    return kReal(g_sent.back().data(), count, type, to, place, count_there, type_there, window);
  };
  if (!plan().counts(bytes))
    return kReal(data, count, type, to, at, count_there, type_there, window);
  const auto* begin = static_cast<const unsigned char*>(data);
  Bytes own(begin, begin + bytes);
  if (const auto late = std::exchange(g_late_put, std::nullopt)) {
    put(own, late->at);
    return put(late->content, at);
  }
  const bool suffers = plan().suffers();
  const Bytes before = std::exchange(g_before, own);
  const std::string& fault = plan().fault;
  if (suffers && fault == "corrupt") own[bytes / 2] ^= 0x40;
  if (suffers && fault == "dropped") return MPI_SUCCESS;
  if (suffers && fault == "repeated") own = before;
  if (suffers && fault == "swapped") {
    g_late_put = LatePut{std::move(own), at};
    return MPI_SUCCESS;
  }
  return put(std::move(own), at);
}
int faulty_get(void* to, int count, MPI_Datatype type, int from, MPI_Aint at, int count_there,
               MPI_Datatype type_there, MPI_Win window) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Get);
  expect(to, length_of(count, type), length_of(count, type));
  return kReal(to, count, type, from, at, count_there, type_there, window);
}
int faulty_flush(int rank, MPI_Win window) {
  static const auto kReal = RAILGAUGE_REAL(MPI_Win_flush);
  const int done = kReal(rank, window);
  arrived();
  g_sent.clear();
  return done;
}

struct Replaced {
  std::string_view name;
  void* by;
};
template <class Function>
Replaced replaced(std::string_view name, Function by) {
  return {name, reinterpret_cast<void*>(by)};
}

}  // namespace

// The runner looks MPI's functions up by name; every other look-up passes through.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* library,
                                                              const char* symbol) noexcept {
  static const std::array kReplaced{
      replaced("MPI_Recv", faulty_recv),
      replaced("MPI_Irecv", faulty_irecv),
      replaced("MPI_Waitall", faulty_waitall),
      replaced("MPI_Bcast", faulty_bcast),
      replaced("MPI_Allgather", faulty_allgather),
      replaced("MPI_Alltoall", faulty_alltoall),
      replaced("MPI_Reduce", faulty_reduce),
      replaced("MPI_Allreduce", faulty_allreduce),
      replaced("MPI_Reduce_scatter", faulty_reduce_scatter),
      replaced("MPI_Gather", faulty_gather),
      replaced("MPI_Gatherv", faulty_gatherv),
      replaced("MPI_Scatter", faulty_scatter),
      replaced("MPI_Scatterv", faulty_scatterv),
      replaced("MPI_Allgatherv", faulty_allgatherv),
      replaced("MPI_Alltoallv", faulty_alltoallv),
      replaced("MPI_Neighbor_allgather", faulty_neighbor_allgather),
      replaced("MPI_Iallreduce", faulty_iallreduce),
      replaced("MPI_Wait", faulty_wait),
      replaced("MPI_Reduce_scatter_block", faulty_reduce_scatter_block),
      replaced("MPI_Alltoallw", faulty_alltoallw),
      replaced("MPI_Neighbor_alltoall", faulty_neighbor_alltoall),
      replaced("MPI_Neighbor_alltoallv", faulty_neighbor_alltoallv),
      replaced("MPI_Neighbor_allgatherv", faulty_neighbor_allgatherv),
      replaced("MPI_Neighbor_alltoallw", faulty_neighbor_alltoallw),
      replaced("MPI_Ialltoall", faulty_ialltoall),
      replaced("MPI_Recv_init", faulty_recv_init),
      replaced("MPI_Startall", faulty_startall),
      replaced("MPI_Accumulate", faulty_accumulate),
      replaced("MPI_Get_accumulate", faulty_get_accumulate),
      replaced("MPI_Fetch_and_op", faulty_fetch_and_op),
      replaced("MPI_Compare_and_swap", faulty_compare_and_swap),
      replaced("MPI_Put", faulty_put),
      replaced("MPI_Get", faulty_get),
      replaced("MPI_Win_flush", faulty_flush)};
  void* found = find_function()(library, symbol);
  if (found == nullptr || plan().fault.empty()) return found;
  if (plan().fault == "slow_test") {
    if (std::string_view(symbol) != "MPI_Test") return found;
    g_library = library;
    return reinterpret_cast<void*>(slow_test);
  }
  for (const Replaced& one : kReplaced)
    if (one.name == symbol) {
      g_library = library;
      return one.by;
    }
  return found;
}
