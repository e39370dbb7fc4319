// Preflights of nodes: sends the orders, waits for the answers, stores them. An answer counts for
// the node whose stream brought it, whatever it claims.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/agent.pb.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/fleet.h"
#include "controller/store/store.h"

namespace railgauge {

// A preflight of several nodes.
struct PreflightQuestion {
  std::map<std::string, std::string> nodes{};  // name to node id
  std::vector<std::string> require{};
  bool probe = false;
  std::string run_id{};  // the run that asked; "": a person asked
};

// Settings of the site profile that nodes must match.
struct PreflightSite {
  std::optional<std::uint32_t> lossless_priority{};
  std::optional<std::uint32_t> traffic_class{};
};

// ask() is called on worker threads, answered() on the loop.
class PreflightService {
 public:
  // Limits for the answers. An agent gives a probe 9 s.
  static constexpr double kAnswerSeconds = 5;
  static constexpr double kProbeSeconds = 15;

  // All references outlive it. Create it before the fleet's first stream.
  PreflightService(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store,
                   PreflightSite site = {});

  // Blocks until all nodes have answered or their time is over. Every node of the question is in
  // the report; a node that did not answer has the reason.
  api::PreflightReport ask(const PreflightQuestion& question);
  // On the loop. False: nobody asked, or the answer is there already.
  bool answered(const std::string& node, api::PreflightAnswer answer);

 private:
  struct Pending {
    std::map<std::string, std::optional<api::PreflightReport>> reports;
    std::size_t missing = 0;
  };
  void keep(const PreflightQuestion& question, const std::string& node,
            const api::PreflightReport& report);

  fleet::EventLoop& loop_;
  fleet::Fleet& fleet_;
  store::Store& store_;
  const PreflightSite site_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Pending> pending_;  // by request id
  std::uint64_t next_ = 1;
};

}  // namespace railgauge
