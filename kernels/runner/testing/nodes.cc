#include "kernels/runner/testing/nodes.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/severity.h"

namespace railgauge::testing_nodes {
namespace {

using testing_process::Process;
using testing_process::program;

constexpr std::uint32_t kFirstAddress = 2;  // 127.0.0.2: lo itself is .1

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "mpi_nodes_XXXXXX").string();
  RG_CHECK(::mkdtemp(name.data()) != nullptr);
  path = name;
  std::filesystem::create_directory(path / "bin");
  std::filesystem::create_directory(path / "tmp");
  for (const char* remote : {"ssh", "rsh"})
    static_cast<void>(script(remote, fmt::format("touch {}/ssh_called; exit 255", name)));
}

std::string Folder::script(const std::string& name, const std::string& body) const {
  const auto file = path / "bin" / name;
  std::ofstream(file) << "#!/bin/sh\n" << body << "\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file.string();
}

std::string Folder::read(const std::string& name) const { return text_of(path / name); }

std::size_t Folder::processes() const {
  const std::string mark = "TMPDIR=" + (path / "tmp").string();
  std::size_t found = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none))
    found += text_of(entry.path() / "environ").find(mark) != std::string::npos ? 1 : 0;
  return found;
}

Final Rank::final() const {
  for (const Record& record : records)
    if (record.has_final()) return record.final();
  return {};
}

std::string Rank::fact(const std::string& name) const {
  for (const Record& record : records)
    if (record.has_started() && record.started().facts().contains(name))
      return record.started().facts().at(name);
  return {};
}

std::size_t Rank::verified_points() const {
  const auto good = [](const Record& one) { return one.has_point() && one.point().verified(); };
  return static_cast<std::size_t>(std::ranges::count_if(records, good));
}

std::string Rank::warnings() const {
  std::string all;
  for (const Record& record : records)
    if (record.has_note() && record.note().severity() == severity::kWarning)
      all += record.note().text() + "\n";
  return all;
}

Nodes::Nodes(const Folder& folder, const Order& order) : ranks(order.nodes), steps_(order.nodes) {
  for (std::uint32_t rank = 0; rank < order.nodes; ++rank) start(folder, order, rank);
  for (std::uint32_t rank = 0; rank < order.nodes; ++rank)
    threads_.emplace_back([this, rank] { serve(rank); });
}

void Nodes::wait() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Nodes::cancel() {
  ToRunner message;
  message.mutable_cancel()->set_reason("somebody wants it to end");
  const std::lock_guard lock(mutex_);
  for (const auto& process : processes_) process->offer(message);
}

void Nodes::start(const Folder& folder, const Order& order, std::uint32_t rank) {
  // A node has a disk of its own. Open MPI's daemons that share one write one file of the job's
  // session (hwloc.sm) into each other's mapped memory, and now and then one crashes.
  const std::string address = fmt::format("127.0.0.{}", rank / order.ranks_a_node + kFirstAddress);
  const auto own = folder.path / "tmp" / address;
  std::filesystem::create_directory(own);
  Words environment{"RAILGAUGE_DATA_ADDRESS=" + address,
                    // Debian's MPICH over UCX's TCP alone hangs in MPI_Finalize, one time in three.
                    "UCX_TLS=posix,sysv,cma,tcp,self", "UCX_NET_DEVICES=lo",
                    "UCX_WARN_UNUSED_ENV_VARS=n", "TMPDIR=" + own.string(),
                    fmt::format("PATH={}/bin:{}", folder.path.string(), std::getenv("PATH"))};
  if (rank < order.environments.size())
    environment.insert(environment.end(), order.environments[rank].begin(),
                       order.environments[rank].end());
  processes_.push_back(
      std::make_unique<Process>(Words{program("railgauge-runner")}, true, environment));
  ToRunner message;
  TaskRequest& request = *message.mutable_request();
  request.mutable_key()->set_run_id("run1");
  request.mutable_key()->set_task_id("task1");
  request.mutable_key()->set_rank(rank);
  request.set_kernel(order.kernel);
  request.set_size(order.nodes);
  if (rank < order.endpoints.size()) request.set_endpoint(order.endpoints[rank]);
  request.set_deadline_seconds(order.deadline_seconds);
  auto& parameters = *request.mutable_parameters();
  parameters["mpi"] = order.mpi;
  parameters["data_network"] = "127.0.0.0/8";
  if (order.mpi == "openmpi") parameters["layer"] = "ob1";
  for (const auto& [name, value] : order.parameters) parameters[name] = value;
  processes_.back()->tell(message);
}

void Nodes::serve(std::uint32_t rank) {
  while (auto message = processes_[rank]->hear()) {
    const std::lock_guard lock(mutex_);
    if (message->has_record()) {
      ranks[rank].records.push_back(std::move(*message->mutable_record()));
    } else if (message->has_prepared() && ++prepared_ == ranks.size()) {
      ToRunner go;
      go.mutable_go();
      for (const auto& process : processes_) process->offer(go);
    } else if (message->has_step()) {
      steps_[rank] = std::move(*message->mutable_step()->mutable_payloads(0));
      answer();
    }
  }
  ranks[rank].ended = processes_[rank]->wait();
}

void Nodes::answer() {
  if (!std::ranges::all_of(steps_, [](const auto& one) { return one.has_value(); })) return;
  ToRunner message;
  message.mutable_step()->set_step(step_);
  for (auto& one : steps_) message.mutable_step()->add_payloads(std::move(*std::exchange(one, {})));
  ++step_;
  for (const auto& process : processes_) process->offer(message);
}

std::vector<Rank> run(const Folder& folder, const Order& order) {
  Nodes nodes(folder, order);
  nodes.wait();
  return nodes.ranks;
}

std::string story(const std::vector<Rank>& ranks) {
  std::string text;
  for (const Rank& rank : ranks)
    text += fmt::format("{}: {} | {} | {}\n", rank.final().outcome(), rank.final().reason(),
                        rank.warnings(), rank.ended.err);
  return text;
}

}  // namespace railgauge::testing_nodes
