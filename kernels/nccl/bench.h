// The kernel that measures an operation: meets, joins, and size by size warms up, samples and
// verifies on all ranks together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/gpu/session.h"
#include "kernels/nccl/environment.h"
#include "kernels/nccl/figures.h"
#include "kernels/nccl/log.h"
#include "kernels/nccl/operation.h"
#include "kernels/nccl/stage.h"
#include "kernels/nccl/team.h"

namespace railgauge::nccl {

class CollectiveBench final : public Kernel {
 public:
  explicit CollectiveBench(const Operation& operation) : operation_(&operation) {}
  ~CollectiveBench() override;
  CollectiveBench(const CollectiveBench&) = delete;
  CollectiveBench& operator=(const CollectiveBench&) = delete;

  Status prepare(Context& context) override;
  Status connect(Context& context, Group& group) override;
  Status measure(Context& context, Group& group) override;

 private:
  Status read_parameters(const Params& params);
  Status check_library(const Nccl& nccl) const;
  Result<std::string> meet(Context& context, Team& team);
  Status open_gpu(Context& context, const std::vector<Told>& all, std::uint32_t rank);
  Status set_stage(Context& context, Team& team, const std::string& unique_id);
  Status first_calls(Team& team);
  void report_facts(Context& context);

  Status measure_all(Context& context, Team& team);
  Status measure_size(Context& context, Team& team, std::uint64_t size);
  Status lead(Context& context, Team& team, Measured& measured);
  Status sample(Context& context, Team& team, Measured& measured);
  Status sample_wall(Team& team, Measured& measured);
  Status learn_choice(Team& team, std::uint64_t moved);
  Team::Perform performer();
  Status perform(Command command, std::uint64_t count, std::vector<double>& samples_ns);
  void report(Context& context, const Measured& measured);

  const Operation* operation_;
  Plan plan_;
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  std::string parameters_;  // what all ranks must have alike
  double join_timeout_ns_ = 0;
  bool tell_choice_ = true;
  gpu::Session session_;
  bool opened_ = false;
  std::unique_ptr<Stage> stage_;  // ends before the session does: declared after it
  DebugOutput log_;
  std::optional<Choice> choice_;  // of the size that is measured
};

}  // namespace railgauge::nccl
