// The agent's one loop. It polls runners and the link's wake-up, stores records before it sends
// them, and answers the controller. Everything except the link's two threads, the metrics server,
// the busy guard and preflights happens on it.
#pragma once

#include <functional>
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
#include "agent/os/modes.h"
#include "agent/preflight/probe/helper.h"
#include "agent/preflight/worker.h"
#include "agent/tasks/supervisor.h"
#include "agent/watch/watch.h"
#include "controller/log/service_manager.h"
#include "kernels/core/text/labels.h"

namespace railgauge::agent {

// Settings of one agent.
struct AgentOptions {
  // The node's name for people.
  std::string name;
  std::string state_dir;  // identity, lock and spool
  std::string sysfs_root = "/sys";
  std::string proc_root = "/proc";
  LinkOptions link;
  std::string web_config{};  // the file of /metrics' TLS and passwords, as runners must not see it
  Supervisor::Options supervisor;
  std::uint64_t spool_bytes = 256U << 20U;  // bound of the spool's file
  BusyOptions busy{};
  WatchOptions watch{};
  std::vector<MpiInstallation> mpi_installations{};
  // Hours that records stay in the spool after the controller acknowledged them.
  double spool_keep_hours = 24;
  Labels labels{};            // of the node, by its settings
  std::string labels_file{};  // more of them, read again and again; "": none
  // Gets reports of the start, the stop, the state and the loop's life. It outlives the agent;
  // nullptr: nobody does.
  ServiceManager* manager = nullptr;
  // Called on the agent's thread at each hang-up, after the TLS files were read.
  std::function<void()> reload{};
};

// The folders that replace /sys and /proc, as the inventory takes them.
InventoryOptions inventory_options(const AgentOptions& options);

// Not thread safe: create it and run it on one thread.
class Agent final : private TaskListener {
 public:
  // Locks the state folder, answers for the tasks of a killed predecessor, and asks the runner for
  // its kernels; no kernels is no error. Errors are those of load_identity() and of the spool.
  static Result<std::unique_ptr<Agent>> open(AgentOptions options, Metrics& metrics);

  // Runs until `stop_fd` is readable; reads the TLS files anew for each signal that `hangup_fd`, a
  // signalfd, has (-1: none). At the end it cancels running tasks, spools their final records,
  // and sends them if the controller takes them at once.
  void run(int stop_fd, int hangup_fd = -1);

 private:
  Agent(AgentOptions options, Metrics& metrics, Identity identity, Spool spool, Fd wake);

  // The events of TaskListener.
  void prepared(const api::TaskRef& task) override;
  void step(const api::TaskRef& task, GroupStep step) override;
  void record(Record record) override;
  void ended(const api::TaskRef& task, Record final, bool was_prepared) override;

  // Polls runners, the link and both descriptors until one is ready or the next deadline.
  void wait(int stop_fd, int hangup_fd);
  // Looks whether the TLS files changed; reads them if `asked`.
  void look_at_tls(bool asked);
  // Handles messages and state changes of the link.
  void take_link_events();
  void on_attached(const api::Welcome& welcome);
  void on_lost(const LinkEvent& event);
  void on_message(api::ControllerMessage& message);
  // kFailedPrecondition: an order of a controller that was deposed.
  Status check_generation(const api::ControllerMessage& message);
  // Deletes acknowledged records from the spool.
  void acknowledge();
  void on_prepare(const api::PrepareTask& prepare);
  // Answers that the task does not start here.
  void refuse(const api::TaskRef& task, const Error& error);
  void take_preflights();
  Status start(const api::PrepareTask& prepare);
  // Moves pending records into the spool; messages that depend on them follow.
  void store();
  void send_prepared();
  void store_failed(const Error& error);
  // Sends stored records until the window of Delivery or the link's queue is full.
  void pump();
  void tick();
  // Sends a heartbeat with the state of the node.
  void beat();
  void refresh_inventory();
  // Reads the labels of the settings and of their file.
  void refresh_labels();
  void load_kernels();
  // Reads the inventory again when it is due and reports changes.
  void look_again(double now_ns);
  // Restarts the wait for the rest state: a task, a preflight or a new stream keeps the agent
  // awake.
  void note_work();
  // Returns memory to the kernel once note_work() was not called for a while.
  void enter_rest(double now_ns);
  void send_hello();
  // The state in words, for the service manager.
  [[nodiscard]] std::string state_text() const;
  void report_start();
  void report_stop();
  void report_life(double now_ns);
  // Sends a message of a task behind the records that it depends on.
  void relay(api::AgentMessage message, const api::TaskRef& task);
  void answer(api::AgentMessage message, std::uint64_t final_id);
  void send_answer(api::AgentMessage message);
  [[nodiscard]] bool may_leave();
  // Publishes the figures of a task that passed; restore_shown() and keep_shown() carry them over a
  // restart.
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
  std::unique_ptr<GenerationBook> generations_{};  // the link refers to it
  Spool spool_;
  Fd wake_;  // eventfd that the other threads write to
  Delivery delivery_;
  Answers answers_;
  Supervisor supervisor_;
  Modes modes_;  // of what is hidden from runners
  BusyGuard guard_;
  BusyReasons busy_;  // the last report
  Watch watch_;
  std::vector<api::NodeEvent> events_;  // to be sent with the next heartbeat
  api::Hello hello_;
  std::string left_out_;          // of the last Hello, beyond the contract's bounds
  std::string labels_trouble_{};  // why the file of labels is not read; "" for none
  Inventory inventory_;           // the last reading
  ConfigKeeper config_keeper_;
  // The figures of a running task. They become visible once the task has passed.
  struct Measured {
    Started started{};
    Figures figures{};
  };
  std::map<TaskKey, Measured> measured_;
  bool shown_is_kept_ = true;                   // the shown metrics are in the state folder
  std::vector<Record> pending_;                 // not in the spool yet
  std::vector<api::AgentMessage> prepared_;     // sent when the records above are stored
  std::vector<api::AgentMessage> after_store_;  // answers that must not overtake those records
  std::uint64_t ack_through_ = 0;               // the newest acknowledgement
  std::uint64_t stream_acked_ = 0;  // on this stream; lower while records are sent again
  double store_retry_ns_ = 0;       // next try while the spool refuses records
  std::string store_error_;         // why
  double tick_ns_ = 0;
  double inventory_ns_ = 0;
  double kernels_ns_ = 0;
  double kernels_wait_ns_ = 0;  // 0: no try has failed
  double rest_ns_ = 0;          // when the agent enters rest; 0: it rests
  double prune_ns_ = 0;
  double beat_ns_ = 0;
  double beat_seconds_ = 5;
  bool was_attached_ = false;                    // at least once
  std::string lost_reason_;                      // the last one that was logged
  double stop_ns_ = 0;                           // when the stop was requested; 0 before
  std::unique_ptr<PreflightWorker> preflights_;  // its thread writes to wake_
  std::unique_ptr<Link> link_;                   // last: its threads end before wake_ is closed
};

}  // namespace railgauge::agent
