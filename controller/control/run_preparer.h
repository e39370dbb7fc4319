// Turns a request into the plan of a run: chooses the nodes, reads the suite, asks preflight,
// chooses the slice, and plans. A resumed run is planned from what the earlier run stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/preflight_service.h"
#include "controller/plan/planner.h"
#include "controller/plan/suite/suite_folder.h"
#include "controller/run/run_machine.h"
#include "controller/store/store.h"

namespace railgauge {

// A line for each cause why nodes that were asked for are not in a run, by the kind of its event.
struct LeftOutLine {
  std::string_view kind;
  std::string text{};
};

// The trigger of a proof: the node set is to be proved, and known-good partners are added to it.
inline constexpr std::string_view kProveTrigger = "prove";

// Nodes by name.
using NodeStates = std::map<std::string, fleet::NodeState>;

// A node of the fleet in few words.
struct LiveHead {
  std::string name{};
  std::shared_ptr<const api::Hello> hello{};
  bool is_attached = false;
  bool is_busy = false;  // production work is on it
};

// The nodes that the controller knows, read from worker threads: live ones from the fleet, earlier
// ones from the store. Thread safe: each function asks the event loop, the store, or both. Do not
// call on the loop.
class FleetView {
 public:
  // All references outlive the view.
  FleetView(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store)
      : loop_(loop), fleet_(fleet), store_(store), common_(std::make_shared<Common>()) {}

  // Nodes that attached at least once in this controller's life, also lost ones.
  [[nodiscard]] NodeStates live() const;
  // Those of live() with these names.
  [[nodiscard]] NodeStates live(const std::vector<std::string>& names) const;
  // All of live(), by name, which takes the loop far less time.
  [[nodiscard]] std::vector<LiveHead> heads() const;
  // The kernels that the attached nodes declare together, as fleet::common_kernels(). The same
  // object as long as they declare the same.
  using Kernels = std::shared_ptr<const std::vector<KernelInfo>>;
  [[nodiscard]] Kernels kernels() const;
  // The nodes in maintenance, with pause_text().
  [[nodiscard]] std::map<std::string, std::string> paused() const;
  // The live nodes, and those that only the store knows as lost.
  [[nodiscard]] Result<NodeStates> all() const;
  // Those of all() that the node set selects, in its order.
  [[nodiscard]] Result<std::vector<std::string>> select(const std::string& node_set) const;

 private:
  // How many attached nodes have a list.
  struct Declared {
    fleet::KernelsOfNode list{};
    std::size_t nodes = 0;
    bool operator==(const Declared&) const = default;
  };
  // Their kernels together; copies of the view share it.
  struct Common {
    std::mutex mutex{};  // guards the next two
    std::vector<Declared> declared{};
    Kernels kernels{};
  };

  fleet::EventLoop& loop_;
  fleet::Fleet& fleet_;
  store::Store& store_;
  std::shared_ptr<Common> common_;
};

// Thread safe: it has no state beside constants. Its functions block on the event loop, the store
// and preflight; call them on worker threads.
class RunPreparer {
 public:
  // The nodes that were asked for and are not in the plan.
  struct LeftOut {
    std::vector<std::string> asked{};             // every node asked for; empty: any attached node
    std::vector<std::string> absent{};            // not attached
    std::map<std::string, std::string> busy{};    // node to the work that keeps it busy
    std::map<std::string, std::string> paused{};  // node to "paused until TIME by WHO: REASON"
    std::vector<std::string> refused{};           // by preflight: "node: reason"
    // Whose kernels differ from those of most nodes: node to reason.
    std::map<std::string, std::string> deviating{};
  };
  // The input of a plan beside the request.
  struct PlanInput {
    std::uint64_t night = 0;                   // chooses the slice, unless the suite's text does
    std::vector<std::string> slice_of{};       // nodes to slice; empty: the nodes asked for
    std::optional<plan::ProvedNodes> prove{};  // of a run of kProveTrigger
    bool is_resumed = false;  // unusable nodes stay in the plan, their tasks waived
    std::map<std::string, std::string> unusable{};  // of a resumed run: node to reason
  };
  // A plan's outline and its origin.
  struct Prepared {
    plan::PlanOutline outline;
    std::string suite_text;  // as read, with the slice written into it
    LeftOut left_out;
    run::LeafUplinks uplinks;
    PlanInput made_for;  // completed by what prepare() found
  };
  // The plan of a run, and the id of the earlier run that it resumes ("": none). Without the tasks
  // that the earlier run finished.
  struct PlannedRun {
    Prepared prepared;
    std::string resumed_run_id{};
    std::shared_ptr<void> memory{};  // claimed for the run
  };
  using IsUnderWay = std::function<bool(const std::string& run_id)>;
  // Claims bytes before they are taken; kResourceExhausted.
  using ClaimMemory = std::function<Result<std::shared_ptr<void>>(double bytes)>;
  // Bytes of the controller for a run under way: for each task its outcome and its ends, and for
  // each task of the largest round the task, its state and its row.
  static constexpr double kBytesOfTask = 32;
  static constexpr double kBytesOfOpenTask = 12'000;
  // A task in the answer that shows a plan.
  static constexpr double kBytesOfShownTask = 1'000;

  // All references outlive it. `is_under_way` reports whether a run has not ended; it may block.
  RunPreparer(FleetView fleet, store::Store& store, PreflightService& preflights,
              const SuiteFolder& suites, plan::Site site, IsUnderWay is_under_way)
      : fleet_(fleet),
        store_(store),
        preflights_(preflights),
        suites_(suites),
        site_(std::move(site)),
        is_under_way_(std::move(is_under_way)) {}

  // Plans are made only while `claim` succeeds. Call it before the first call.
  void set_memory(ClaimMemory claim) { claim_memory_ = std::move(claim); }
  // Claims memory for a run of the outline.
  Result<std::shared_ptr<void>> claim_run(const plan::PlanOutline& outline) const;
  // Claims memory for the answer that shows the plan.
  Result<std::shared_ptr<void>> claim_answer(const plan::PlanOutline& outline) const;
  // The outline over the nodes that can be used now, without preflight. Errors: a wrong request or
  // suite (kInvalidArgument), no usable node (kUnavailable). A proof gets partners that no open
  // finding names.
  Result<Prepared> prepare(const api::RunRequest& request, PlanInput made_for);
  // The plan to run, without the nodes that the suite's preflight refuses. kFailedPrecondition:
  // preflight refuses every node, or the run to resume is under way or cannot be planned again.
  Result<PlannedRun> plan_run(const api::RunRequest& request, std::uint64_t night);

  // "paused, left out: n1 (until ..., by ann: DIMM)" and so on; empty: all are in the plan.
  static std::vector<LeftOutLine> lines_of(const LeftOut& left_out);
  // Days since 1970 in UTC: the slice of a run that belongs to no schedule.
  static std::uint64_t today();

 private:
  Result<Prepared> prepare_on(const api::RunRequest& request, PlanInput made_for);
  [[nodiscard]] Result<plan::ProvedNodes> nodes_of_proof(const api::RunRequest& request) const;
  [[nodiscard]] Result<plan::Topology> topology_of(const NodeStates& nodes) const;
  Result<NodeStates> nodes_to_use(const api::RunRequest& request, const PlanInput& made_for,
                                  std::vector<std::string>& order, LeftOut& left_out);
  Result<NodeStates> nodes_to_resume(const api::RunRequest& request, PlanInput& made_for,
                                     std::vector<std::string>& order, LeftOut& left_out);
  Result<Prepared> prepare_admitted(const api::RunRequest& request, PlanInput made_for);
  Result<PlannedRun> plan_resumed(const api::RunRequest& request);
  [[nodiscard]] Result<std::shared_ptr<void>> claim(double bytes) const;
  Result<plan::PlanOptions> plan_options(const plan::Suite& suite, const NodeStates& nodes) const;

  FleetView fleet_;
  store::Store& store_;
  PreflightService& preflights_;
  const SuiteFolder& suites_;
  const plan::Site site_;
  IsUnderWay is_under_way_;
  ClaimMemory claim_memory_;  // may be empty
};

}  // namespace railgauge
