// The agent's one loop: polls runners and the link's wake-up, stores records before it sends them,
// answers the controller. Everything but the link's two threads and the metrics server happens
// here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/busy/guard.h"
#include "agent/identity.h"
#include "agent/inventory/facts/inventory.h"
#include "agent/link/answers.h"
#include "agent/link/delivery.h"
#include "agent/link/link.h"
#include "agent/link/spool.h"
#include "agent/metrics.h"
#include "agent/preflight/probe/helper.h"
#include "agent/preflight/worker.h"
#include "agent/tasks/supervisor.h"
#include "agent/watch/watch.h"

namespace railgauge::agent {

struct AgentOptions {
  std::string name;       // how people call the node
  std::string state_dir;  // identity, lock and spool
  std::string sysfs_root = "/sys";
  std::string proc_root = "/proc";
  LinkOptions link;
  Supervisor::Options supervisor;
  std::uint64_t spool_bytes = 256U << 20U;
  BusyOptions busy{};
  WatchOptions watch{};
  std::vector<MpiInstallation> mpi_installations{};
  double spool_keep_hours = 24;  // of records that the controller has acknowledged
};

// The folders used in place of /sys and /proc, as the inventory takes them.
InventoryOptions inventory_options(const AgentOptions& options);

class Agent final : private TaskListener {
 public:
  // Locks the state folder, answers for tasks of a killed predecessor, asks the runner for its
  // kernels (none is no error). Errors: load_identity's and the spool's.
  static Result<std::unique_ptr<Agent>> open(AgentOptions options, Metrics& metrics);

  // Until `stop_fd` is readable. Then running tasks are cancelled, their final records spooled, and
  // sent if the controller takes them at once.
  void run(int stop_fd);

 private:
  Agent(AgentOptions options, Metrics& metrics, Identity identity, Spool spool, Fd wake);

  // TaskListener
  void prepared(const api::TaskRef& task) override;
  void step(const api::TaskRef& task, GroupStep step) override;
  void record(Record record) override;
  void ended(const api::TaskRef& task, Record final, bool was_prepared) override;

  void wait(int stop_fd);
  void take_link_events();
  void on_attached(const api::Welcome& welcome);
  void on_lost(const LinkEvent& event);
  void on_message(api::ControllerMessage& message);
  void acknowledge();
  void on_prepare(const api::PrepareTask& prepare);
  void take_preflights();
  Status start(const api::PrepareTask& prepare);
  void store();
  void say_prepared();
  void store_failed(const Error& error);
  void pump();
  void tick();
  void beat();
  void refresh_inventory();
  void load_kernels();
  void look_again(double now_ns);
  void works();
  void rest(double now_ns);
  void say_hello();
  void relay(api::AgentMessage message, const api::TaskRef& task);
  void answer(api::AgentMessage message, std::uint64_t final_id);
  void send_answer(api::AgentMessage message);
  [[nodiscard]] bool may_leave();
  void show(const Figures& figures);
  void restore_shown();
  void keep_shown();
  void take_busy();
  void take_watch();
  [[nodiscard]] std::string busy_text() const;
  void fill_busy(api::BusyState& state) const;

  AgentOptions options_;
  Metrics& metrics_;
  Identity identity_;
  Spool spool_;
  Fd wake_;  // eventfd that the link's threads ring
  Delivery delivery_;
  Answers answers_;
  Supervisor supervisor_;
  BusyGuard guard_;
  BusyReasons busy_;  // as last reported
  Watch watch_;
  std::vector<api::NodeEvent> events_;  // not reported yet
  api::Hello hello_;
  Inventory inventory_;  // as read last
  ConfigKeeper config_keeper_;
  // The figures of running tasks that become visible once the tasks have passed.
  struct Measured {
    Started started{};
    Figures figures{};
  };
  std::map<TaskKey, Measured> measured_;
  bool shown_is_kept_ = true;                   // the shown metrics are in the state folder
  std::vector<Record> pending_;                 // not in the spool yet
  std::vector<api::AgentMessage> prepared_;     // to be said once those are
  std::vector<api::AgentMessage> after_store_;  // answers that must not overtake those records
  std::uint64_t ack_through_ = 0;               // the newest that was heard
  std::uint64_t stream_acked_ = 0;              // on this stream: less while records go up again
  double store_retry_ns_ = 0;                   // while the spool takes nothing
  std::string store_error_;                     // why
  double tick_ns_ = 0;
  double inventory_ns_ = 0;
  double kernels_ns_ = 0;
  double rest_ns_ = 0;  // when the agent will be at rest; 0: it is
  double prune_ns_ = 0;
  double beat_ns_ = 0;
  double beat_seconds_ = 5;
  bool was_attached_ = false;                    // ever
  std::string lost_reason_;                      // as logged last
  double stop_ns_ = 0;                           // when a stop was asked for; 0 before
  std::unique_ptr<PreflightWorker> preflights_;  // its thread rings wake_
  std::unique_ptr<Link> link_;                   // last: its threads end before what they ring goes
};

}  // namespace railgauge::agent
