// One rank of an MPI task. Rank 0 decides: it broadcasts each next step, outside the timed region;
// the others follow until it announces the end.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/sampling.h"
#include "kernels/gpu/device.h"
#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

inline constexpr double kExchangeSeconds = 60;

class Bench final : public Kernel {
 public:
  explicit Bench(const Operation& operation) : operation_(operation) {}
  Status prepare(Context& context) override;
  Status connect(Context& context, Group& group) override;
  Status measure(Context& context, Group& group) override;

 private:
  enum class Act : std::uint32_t { kBegin = 1, kPlay, kVerify, kDone };
  struct Order {
    Act act = Act::kDone;
    std::uint32_t size_index = 0;
    std::uint64_t count = 0;
  };

  [[nodiscard]] bool on_gpu() const { return memory_ != Memory::kHost; }
  [[nodiscard]] Share share_of(std::size_t size_index) const;
  Status set_tunables(Context& context, std::uint32_t local_rank);
  Status open_memory(Context& context);
  Status check_cuda(Context& context);
  Status check_same_mpi(Group& group);

  void send_order(Act act, std::size_t size_index = 0, std::uint64_t count = 0);
  void begin(std::size_t size_index);
  void play(const TickClock& clock, std::size_t size_index, std::uint64_t count);
  Status verify(std::size_t size_index);

  Status lead(Context& context);
  Status follow(Context& context);
  Status lead_size(Context& context, std::size_t size_index);
  Status batch(Context& context, std::size_t size_index, std::uint64_t count,
               std::vector<double>& out);
  Status share(Group& group, const Status& mine) const;
  [[nodiscard]] bool counts(std::uint32_t rank) const;
  [[nodiscard]] double value(double ns, std::size_t size_index) const;
  void report(Context& context, std::size_t size_index, Sampled sampled, std::uint64_t skipped);
  void report_ranks(Context& context, std::size_t size_index, const Sampled& sampled,
                    std::span<const std::uint32_t> ranks);

  const Operation& operation_;
  Calls* mpi_ = nullptr;
  gpu::Gpu gpu_;
  Memory memory_ = Memory::kHost;
  bool staged_ = false;
  bool target_staged_ = false;  // rank 1 copies between its host memory and its GPU
  bool verify_ = true;
  std::vector<std::uint64_t> sizes_;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 1;
  std::uint32_t root_ = 0;
  std::uint64_t window_ = 1;
  SamplerOptions options_;
  Area send_;
  Area receive_;
  std::vector<int> floats_of_rank_;
  std::vector<std::uint64_t> ticks_;
  std::vector<double> own_ns_;
  std::vector<double> all_ns_;                   // of all ranks, on rank 0
  std::vector<std::vector<double>> by_rank_ns_;  // of kept samples
  bool stopped_ = false;                         // a rank has found something wrong
};

}  // namespace railgauge::mpi
