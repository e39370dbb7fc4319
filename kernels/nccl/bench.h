// The kernel that measures an operation: meets the ranks, joins, and for each size warms up,
// samples and verifies on all ranks together.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/gpu/session/session.h"
#include "kernels/nccl/communicator/environment.h"
#include "kernels/nccl/communicator/log.h"
#include "kernels/nccl/communicator/ports.h"
#include "kernels/nccl/communicator/split.h"
#include "kernels/nccl/communicator/team.h"
#include "kernels/nccl/communicator/worker.h"
#include "kernels/nccl/figures.h"
#include "kernels/nccl/operation.h"
#include "kernels/nccl/stage.h"

namespace railgauge::nccl {

// State of the worker's calls; an abandoned call keeps it alive.
struct RankState {
  gpu::Session session;
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  Communicator comm;
  std::unique_ptr<Stage> stage;  // ends before the communicator does: declared after it
};

// One rank of one task. The kernel's thread communicates with the other ranks; a Worker makes every
// NCCL call, so that a call that never returns cannot hang the task. Not thread safe.
class CollectiveBench final : public Kernel {
 public:
  explicit CollectiveBench(const Operation& operation)
      : operation_(&operation), state_(std::make_shared<RankState>()) {}
  ~CollectiveBench() override;

  // Reads parameters, opens the GPU when one is named, loads NCCL.
  Status prepare(Context& context) override;
  // Meets the other ranks, joins the communicator, makes the first calls.
  Status connect(Context& context, Group& group) override;
  // Measures every size. After an error the communicator is aborted.
  Status measure(Context& context, Group& group) override;

 private:
  // Steps of prepare() and connect().
  Status read_parameters(const Params& params);
  Status check_library(const Nccl& nccl) const;
  Status fit_ranks();
  Result<std::string> meet(Context& context, Team& team);
  Status open_gpu(Context& context);
  Status join_all(Context& context, Team& team);
  Status set_stage(Context& context, Team& team, const std::string& unique_id);
  Status first_calls(Context& context, Team& team);
  void report_facts(Context& context, const LogFacts& seen, const std::string& path);
  // Runs `job` on the worker with its GPU's context current; `job` must own the memory that it
  // uses. Gives up after `allowed_ns` without progress, or when the communicator reports an error
  // (kWatched).
  enum class Comm : std::uint8_t { kWatched, kUnwatched };
  Status guarded(std::string step, double allowed_ns, Comm comm,
                 std::function<Status(RankState&)> job);
  // Aborts calls that wait for other ranks. Reports nothing: the error is reported already.
  void give_up();

  // Steps of measure(). Functions with a Team meet the other ranks.
  Status measure_all(Context& context, Team& team);
  Status measure_size(Context& context, Team& team, std::uint64_t size);
  Status verify(const std::string& size);
  Status lead(Context& context, Team& team, Measured& measured);
  Status sample(Context& context, Team& team, Measured& measured);
  Status sample_wall(Team& team, Measured& measured);
  Status learn_choice(Team& team, std::uint64_t moved);
  Status choose_repeat(Team& team);
  Team::Perform performer();
  Status perform(const Order& order, std::vector<double>& samples_ns);
  Told health(const Context& context, const Team& team);
  void report_ports(Context& context, const Measured& measured, const std::vector<Told>& all);
  Status report(Context& context, const Measured& measured, const std::vector<Told>& all);

  // Lives as long as the process.
  const Operation* operation_;
  // Complete once the ranks have met.
  Plan plan_;
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  double proof_time_ns_ = 0;
  double spread_ = 0;   // of an operation with traffic
  std::string matrix_;  // likewise; "": by spread
  Split split_;
  Joining joining_;
  std::map<std::string, std::string> parameters_;  // must be equal on all ranks
  double join_timeout_ns_ = 0;
  // Times before the deadline: at the first a call ends, so that the ranks can exchange the reason;
  // at the second they stop waiting for messages, so that NCCL can be ended.
  double stop_monotonic_ns_ = 0;
  double words_monotonic_ns_ = 0;
  std::uint64_t asked_repeat_ = 1;  // 0: chosen for each size
  std::uint64_t repeat_ = 1;        // of the measured size
  bool report_choice_ = true;
  bool is_cold_ = true;
  std::shared_ptr<RankState> state_;
  std::unique_ptr<Worker> worker_;  // exists from the joining on
  bool opened_ = false;
  DebugOutput log_;
  PortReader ports_{ports_folder()};
  // Around the measured size's kept samples.
  std::vector<PortBytes> ports_before_;
  std::vector<PortBytes> ports_after_;
  UsedPorts used_ports_;              // on rank 0
  std::string host_;                  // a hash: the same on ranks of one host
  bool hosts_meet_at_ports_ = false;  // on rank 0: nothing else connects them
  bool over_network_ = false;         // on rank 0: NCCL says so of a connection of any rank
  std::optional<Choice> choice_;      // of the measured size
};

}  // namespace railgauge::nccl
