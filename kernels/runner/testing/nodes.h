// Nodes of an MPI task for tests: a runner for each, at addresses of this host's loopback. Acts as
// agents and controller: starts the runners and carries their steps. For tests only.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/runner/testing/process.h"

namespace railgauge::testing_nodes {

using Words = std::vector<std::string>;

// The folder of a test. Every process of its tasks (runners, launcher, daemons, ranks) has
// tmp/ADDRESS below it as TMPDIR, with its node's address; no other process has.
struct Folder {
  Folder();
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  // Writes a script and returns its path. A task finds programs of this folder first.
  [[nodiscard]] std::string script(const std::string& name, const std::string& body) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] std::size_t processes() const;
  [[nodiscard]] bool ssh_was_called() const { return std::filesystem::exists(path / "ssh_called"); }
  std::filesystem::path path;
};

struct Rank {
  std::vector<Record> records;
  testing_process::Ended ended;
  [[nodiscard]] Final final() const;
  [[nodiscard]] std::string fact(const std::string& name) const;
  [[nodiscard]] std::size_t verified_points() const;
  [[nodiscard]] std::string warnings() const;
};

struct Order {
  std::string mpi;
  std::string kernel = "mpi.lat";
  std::uint32_t nodes = 2;  // ranks; each on a node of its own, or so many together
  std::uint32_t ranks_a_node = 1;
  std::map<std::string, std::string> parameters{};
  double deadline_seconds = 120;
  std::vector<std::string> endpoints{};  // of each rank
  std::vector<Words> environments{};     // of each rank, added to the common one
};

class Nodes {
 public:
  Nodes(const Folder& folder, const Order& order);
  ~Nodes() { wait(); }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  void wait();
  void cancel();

  std::vector<Rank> ranks;  // after wait()

 private:
  void start(const Folder& folder, const Order& order, std::uint32_t rank);
  void serve(std::uint32_t rank);
  void answer();

  std::vector<std::unique_ptr<testing_process::Process>> processes_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<std::optional<std::string>> steps_;
  std::size_t prepared_ = 0;
  std::uint32_t step_ = 0;
};

std::vector<Rank> run(const Folder& folder, const Order& order);
// Returns all ranks' output, for the message of a failed test.
std::string story(const std::vector<Rank>& ranks);

}  // namespace railgauge::testing_nodes
