#include "controller/nodes/site_words.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/fleet/convert.h"
#include "controller/plan/suite/whole_file.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::size_t kNamedInLog = 5;

// "PATH SIZE TIME", which changes with the file.
std::string mark_of(const std::string& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  const auto time = std::filesystem::last_write_time(path, failed);
  return fmt::format("{} {} {};", path, failed ? 0 : size,
                     failed ? 0 : time.time_since_epoch().count());
}

void add(const std::map<std::string, Labels>& more, store::NodeWords& words) {
  for (const auto& [node, labels] : more) words.labels[node].insert(labels.begin(), labels.end());
}

}  // namespace

Result<store::NodeWords> words_of(const plan::Site& site,
                                  const std::vector<plan::TopologyNode>& nodes,
                                  std::vector<std::string>& skipped) {
  store::NodeWords words;
  words.groups = {site.groups.begin(), site.groups.end()};
  if (!site.labels_file.empty())
    add(plan::labels_of_nodes(RG_TRY(read_whole_file(site.labels_file, plan::kMaxTopologyBytes)),
                              nodes, skipped),
        words);
  if (site.topology.file.empty()) return words;
  const std::string text = RG_TRY(read_whole_file(site.topology.file, plan::kMaxTopologyBytes));
  if (site.topology.source == "labels") {
    add(plan::labels_of_nodes(text, nodes, skipped), words);
    return words;
  }
  const plan::Topology topology = RG_TRY(plan::read_topology(site.topology, text, nodes));
  std::map<std::string, Labels> places;
  for (const auto& [node, place] : topology.nodes) {
    if (is_label_value(place.leaf)) places[node].emplace("leaf", place.leaf);
    if (is_label_value(place.pod)) places[node].emplace("pod", place.pod);
  }
  add(std::move(places), words);
  return words;
}

// The names of the nodes are enough: one that comes later may be in a file already.
Result<std::string> SiteWords::mark() const {
  std::string mark = "site;";
  if (!site_.labels_file.empty()) mark += mark_of(site_.labels_file);
  if (!site_.topology.file.empty()) mark += mark_of(site_.topology.file);
  if (mark == "site;") return mark;
  for (const store::NodeHeadRow& head : RG_TRY(store_.read(store::read_node_heads)))
    mark += head.name + ' ';
  return mark;
}

Status SiteWords::read_files() {
  std::vector<plan::TopologyNode> nodes;
  if (!site_.labels_file.empty() || !site_.topology.file.empty())
    for (const store::NodeRow& node : RG_TRY(store_.list_nodes()))
      nodes.push_back(topology_node_of(state_of(node)));
  std::vector<std::string> skipped;
  store::NodeWords words = RG_TRY(words_of(site_, nodes, skipped));
  if (!skipped.empty())
    spdlog::warn("labels: {} are none that a selector could name: {}", skipped.size(),
                 some_of(skipped, kNamedInLog));
  return store_.write(store::write_site_words, std::move(words));
}

void SiteWords::refresh() {
  const auto now = mark();
  if (!now || *now == seen_) return;
  if (const Status read = read_files(); !read) {
    if (std::exchange(trouble_, read.error().message) != read.error().message)
      spdlog::warn("labels and groups stay as they were: {}", trouble_);
    return;  // the next look tries again
  }
  trouble_.clear();
  seen_ = *now;
}

}  // namespace railgauge
