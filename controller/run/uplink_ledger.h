// Shares the uplinks of leaf switches among runs that are under way side by side. A run that is
// alone on a leaf's uplinks loads them as its suite wants. Where several runs load them, the loads
// together stay within their rate. Takes and gives loads; uses no clock, socket or file.
//
// A run that does not get a load has a claim. Claims are served in the order of their beginning,
// and a run leaves room for the claims before its own, so no run keeps another from the uplinks for
// ever.
//
// Invariant: on a leaf of known rate that several runs load, the loads together are within it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace railgauge::run {

// Total rate of each leaf's uplinks in bits per second; a missing leaf is unknown.
using LeafUplinks = std::map<std::string, double>;

// Not thread safe. Loads are bits per second.
class UplinkLedger {
 public:
  // The run is under way. Its topology is the newest one, so its rates are those from now on.
  void join(const std::string& run_id, const LeafUplinks& uplinks);
  // The run has ended: its loads and its claim are gone.
  void leave(const std::string& run_id);
  // Whether no other run is under way, so that every load is allowed.
  [[nodiscard]] bool is_alone(const std::string& run_id) const;

  // Reports whether the run may put the load on the uplinks of each of the leaves.
  [[nodiscard]] bool allows(const std::string& run_id, const std::vector<std::string>& leaves,
                            double load) const;
  void take(const std::string& run_id, const std::vector<std::string>& leaves, double load);
  void give_back(const std::string& run_id, const std::vector<std::string>& leaves, double load);
  // Sets what the run was refused, by leaf; empty: nothing. The claim keeps its place until the run
  // has taken a load on a leaf of it, or wants nothing.
  void set_claim(const std::string& run_id, std::map<std::string, double> refused);

  [[nodiscard]] double load_of(const std::string& leaf) const;
  // Runs that load the leaf's uplinks.
  [[nodiscard]] std::vector<std::string> runs_on(const std::string& leaf) const;
  // The runs that keep this one from what it claims, each with the leaves.
  [[nodiscard]] std::map<std::string, std::set<std::string>> waits_of(
      const std::string& run_id) const;
  [[nodiscard]] bool empty() const { return runs_.empty(); }

 private:
  struct Load {
    std::uint32_t tasks = 0;
    double bits_per_second = 0;
  };
  struct Run {
    std::map<std::string, Load> loads{};     // by leaf
    std::map<std::string, double> claim{};   // by leaf
    std::optional<std::uint64_t> claimed{};  // place in the order of claims
  };
  [[nodiscard]] bool is_before(const Run& one, const Run& other) const;

  std::map<std::string, Run> runs_;  // by id
  LeafUplinks uplinks_;
  std::uint64_t claims_ = 0;
};

}  // namespace railgauge::run
