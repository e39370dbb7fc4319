// The limits of CPU writes to GPU memory, on a machine with a GPU: the same 64 KiB by each routine,
// with other alignments, fences, sources, targets and cores, beside the copy engine's rate of the
// same size. Prints a table of the best route; exit codes: 0 printed, 5 no GPU or no mapping, 1 a
// call failed.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/bar/path.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/gpu/handles.h"
#include "kernels/memory/numa.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::bar {
namespace {

constexpr std::size_t kCopyBytes = 64U << 10U;
constexpr std::size_t kWindowBytes = 64U << 20U;
// Time of one row in one round, and rounds: the rows come in turns, so that a change of the machine
// meets all of them.
constexpr double kRowNs = 20e6;
constexpr int kRounds = 15;

// One row: its words, and a function that writes `copies` times 64 KiB.
struct Row {
  std::string name;
  std::function<Status(int copies)> write;
  int copies = 16;              // in a call
  std::vector<double> rates{};  // GB/s, one a round
};

#if defined(__x86_64__)
// 64 KiB by 64-byte non-temporal stores without a fence.
[[gnu::target("avx512f")]] void write_without_fence(std::byte* to, const std::byte* from,
                                                    std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
}
// The same from registers: no load at all.
[[gnu::target("avx512f")]] void write_registers(std::byte* to, const std::byte*,
                                                std::size_t bytes) {
  const __m512i value = _mm512_set1_epi32(0x5a5a5a5a);
  for (std::size_t at = 0; at < bytes; at += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), value);
  _mm_sfence();
}
// Plain 64-byte stores into write-combining memory.
[[gnu::target("avx512f")]] void write_plain_stores(std::byte* to, const std::byte* from,
                                                   std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64)
    _mm512_storeu_si512(to + at, _mm512_loadu_si512(from + at));
  _mm_sfence();
}
// Two streams of lines, 32 KiB apart: two lines of different pages are open at once.
[[gnu::target("avx512f")]] void write_two_streams(std::byte* to, const std::byte* from,
                                                  std::size_t bytes) {
  const std::size_t half = bytes / 2;
  for (std::size_t at = 0; at < half; at += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + half + at),
                        _mm512_loadu_si512(from + half + at));
  }
  _mm_sfence();
}
#endif

// Binds the calling thread to one CPU; ignored where it may not.
void bind_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Copies between two meetings of a team: its threads wake once for all of them.
constexpr int kCopiesOfTeam = 256;

// Threads that write their own parts at the same time, on CPUs of their own.
class Team {
 public:
  Team(const std::vector<int>& cpus, std::function<void(std::size_t)> write)
      : write_(std::move(write)) {
    for (std::size_t i = 0; i < cpus.size(); ++i)
      threads_.emplace_back([this, i, cpu = cpus[i]] {
        bind_to(cpu);
        serve(i);
      });
  }
  ~Team() {
    copies_ = -1;
    ++round_;
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  // Each thread writes `copies` times; returns when all have.
  void run(int copies) {
    copies_ = copies;
    done_ = 0;
    ++round_;
    round_.notify_all();
    while (done_ < static_cast<int>(threads_.size())) {
    }
  }

 private:
  void serve(std::size_t index) {
    for (int seen = 0;;) {
      round_.wait(seen);  // sleeps: another row has the machine to itself
      seen = round_;
      if (copies_ < 0) return;
      for (int i = 0; i < copies_; ++i) write_(index);
      ++done_;
    }
  }
  std::function<void(std::size_t)> write_;
  std::atomic<int> round_ = 0;
  std::atomic<int> copies_ = 0;
  std::atomic<int> done_ = 0;
  std::vector<std::thread> threads_;
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Writes for kRowNs and returns GB/s.
Result<double> rate_of(const TickClock& clock, Row& row) {
  RG_TRY_OK(row.write(row.copies));
  const std::uint64_t begin = clock.ticks();
  double spent_ns = 0;
  double bytes = 0;
  while (spent_ns < kRowNs) {
    RG_TRY_OK(row.write(row.copies));
    bytes += static_cast<double>(kCopyBytes) * row.copies;
    spent_ns = clock.to_ns(clock.ticks() - begin);
  }
  return bytes / spent_ns;
}

// The CPUs near the GPU and, where there are some, far from it.
std::vector<std::vector<int>> cpus_of(const gpu::Gpu& gpu) {
  std::vector<std::vector<int>> out;
  const auto nodes = numa_nodes();
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  const auto usable = [&](std::vector<int> cpus) {
    std::erase_if(cpus, [&](int cpu) { return !CPU_ISSET(cpu, &allowed); });
    return cpus;
  };
  std::vector<int> all;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) all.push_back(cpu);
  const int node = gpu.numa_node();
  if (!nodes || nodes->size() < 2 || node < 0) return {all};
  if (const auto near = nearest_node(*nodes, node)) out.push_back(usable((*nodes)[*near].cpus));
  if (const auto far = farthest_node(*nodes, node)) out.push_back(usable((*nodes)[*far].cpus));
  std::erase_if(out, [](const auto& cpus) { return cpus.empty(); });
  return out.empty() ? std::vector<std::vector<int>>{all} : out;
}

// The rows of the table, and what they copy with. The view and the memory outlive it.
class Rows {
 public:
  Rows(const gpu::Gpu& gpu, const View& view, const PinnedBuffer& pinned, const Copier& copier)
      : gpu_(gpu),
        view_(view),
        pinned_(pinned),
        host_(pinned.data()),
        by_(copier.writer->write),
        chosen_(copier.writer->name) {}

  // By one core: each routine, and the chosen one with other places and fences.
  void add_routines() {
    for (const Routine& routine : routines())
      if (routine.available) add(std::string(routine.name), routine.write);
    add(chosen_ + ", source 4 bytes off", by_, 0, 4);
    add(chosen_ + ", source 32 bytes off", by_, 0, 32);
    add(chosen_ + ", target 32 bytes off", by_, 32, 0);
    add(chosen_ + ", target 4 bytes off", by_, 4, 0);
    add(chosen_ + ", a fence every 4 KiB", by_, 0, 0, 0, 4096);
    add(chosen_ + ", another target each time", by_, 0, 0, kCopyBytes);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") != 0) {
      add("64-byte stores, no fence", write_without_fence);
      add("64-byte stores of a register", write_registers);
      add("64-byte plain stores", write_plain_stores);
      add("two streams of 64-byte stores", write_two_streams);
    }
#endif
  }

  // By several cores of one node. `cpus`: near the GPU first.
  void add_teams(const std::vector<std::vector<int>>& cpus) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{4}})
      add_team(fmt::format("{}, {} cores of the near node", chosen_, count), cpus[0], count);
    if (cpus.size() > 1)
      for (const std::size_t count : {std::size_t{1}, std::size_t{2}})
        add_team(fmt::format("{}, {} cores of the far node", chosen_, count), cpus[1], count);
  }

  void add_engines(const gpu::Stream& stream) {
    add_engine(stream, "copy engine, one after the other", kCopyBytes, true, 16);
    add_engine(stream, "copy engine, 16 in its queue", kCopyBytes, false, 16);
    add_engine(stream, "copy engine, 256 in its queue", kCopyBytes, false, 256);
    add_engine(stream, "copy engine, 1 MiB", 1U << 20U, false, 256);
    add_engine(stream, "copy engine, 16 MiB", 16U << 20U, false, 1024);
  }

  std::vector<Row>& all() { return rows_; }

 private:
  void add(const std::string& name, Copy copy, std::size_t to = 0, std::size_t from = 0,
           std::size_t stride = 0, std::size_t bytes = kCopyBytes) {
    rows_.push_back({name, [=, this, at = std::size_t{0}](int copies) mutable -> Status {
                       for (int i = 0; i < copies; ++i) {
                         for (std::size_t part = 0; part < kCopyBytes; part += bytes)
                           copy(view_.cpu + to + at + part, host_ + from + (stride == 0 ? part : 0),
                                bytes);
                         at = stride == 0 ? 0 : (at + stride) % (kWindowBytes - 2 * kCopyBytes);
                       }
                       return {};
                     }});
  }

  void add_team(const std::string& name, const std::vector<int>& where, std::size_t count) {
    if (where.size() < count + 1) return;  // the calling thread has the first
    teams_.push_back(std::make_unique<Team>(
        std::vector<int>(where.begin() + 1, where.begin() + 1 + static_cast<std::ptrdiff_t>(count)),
        [this, count](std::size_t index) {
          const std::size_t part = kCopyBytes / count;
          by_(view_.cpu + index * part, host_ + index * part, part);
        }));
    rows_.push_back({.name = name,
                     .write = [team = teams_.back().get()](int copies) -> Status {
                       team->run(copies);
                       return {};
                     },
                     .copies = kCopiesOfTeam});
  }

  void add_engine(const gpu::Stream& stream, const std::string& name, std::size_t bytes,
                  bool one_by_one, int copies_in_call) {
    rows_.push_back(
        {name,
         [=, this, &stream](int copies) -> Status {
           const Cuda& cuda = loaded_cuda();
           const std::size_t total = kCopyBytes * static_cast<std::size_t>(copies);
           for (std::size_t at = 0; at < total; at += bytes) {
             RG_TRY_OK(gpu_status(
                 gpu_, cuda.memcpy_async(view_.gpu, pinned_.device_pointer(), bytes, stream.get()),
                 "copy"));
             if (one_by_one)
               RG_TRY_OK(gpu_status(gpu_, cuda.stream_synchronize(stream.get()), "wait"));
           }
           return gpu_status(gpu_, cuda.stream_synchronize(stream.get()), "wait");
         },
         copies_in_call});
  }

  const gpu::Gpu& gpu_;
  const View& view_;
  const PinnedBuffer& pinned_;
  std::byte* host_;
  Copy by_;
  std::string chosen_;
  std::vector<Row> rows_;
  std::vector<std::unique_ptr<Team>> teams_;
};

Status run() {
  const gpu::Gpu gpu = RG_TRY(gpu::Gpu::open("gpu0"));
  const Copier copier = RG_TRY(choose_copier(routines(), "auto"));
  const auto backends = make_backends();
  Backend* tried = nullptr;
  const Path path = RG_TRY(choose_path(
      backends, "auto",
      [&](Backend& backend) {
        tried = &backend;
        return backend.make(gpu, kWindowBytes);
      },
      [&](const View& view) { return prove_view(gpu, view, copier, tried->name()); }));
  const View view = path.window->view();
  const PinnedBuffer pinned = RG_TRY(PinnedBuffer::allocate(kWindowBytes, PinnedKind::kPinned));
  std::ranges::fill(pinned.span(), std::byte{0x5a});
  const TickClock clock = TickClock::calibrate();
  const auto cpus = cpus_of(gpu);
  bind_to(cpus[0][0]);
  cu::Stream raw = nullptr;
  RG_TRY_OK(gpu_status(gpu, loaded_cuda().stream_create(&raw, 1), "create a stream"));
  const gpu::Stream stream(raw);

  Rows rows(gpu, view, pinned, copier);
  rows.add_routines();
  rows.add_teams(cpus);
  rows.add_engines(stream);
  for (int round = 0; round < kRounds; ++round)
    for (Row& row : rows.all()) row.rates.push_back(RG_TRY(rate_of(clock, row)));
  fmt::print(
      "{} by {} ({}), {} rounds of {:.0f} ms a row, CPUs near {}, far {}\n\n| 64 KiB writes | "
      "median GB/s | "
      "least | most |\n|---|---:|---:|---:|\n",
      gpu.model(), path.backend->name(), caching_in_words(view.caching), kRounds, kRowNs / 1e6,
      cpus[0].size(), cpus.size() > 1 ? cpus[1].size() : 0);
  for (const Row& row : rows.all())
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} |\n", row.name, median_of(row.rates),
               std::ranges::min(row.rates), std::ranges::max(row.rates));
  return {};
}

}  // namespace
}  // namespace railgauge::bar

int main() {
  const auto done = railgauge::bar::run();
  if (done) return 0;
  std::fprintf(stderr, "bar_write_limits_bench: %s\n", done.error().message.c_str());
  return railgauge::outcome_of(done.error().code) == railgauge::kWaived ? 5 : 1;
}
