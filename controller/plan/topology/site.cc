#include "controller/plan/topology/site.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "controller/plan/suite/suite_keys.h"
#include "controller/plan/suite/whole_file.h"
#include "controller/plan/suite/yaml_reader.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/nccl_tests/profile.h"

namespace railgauge::plan {
namespace {

constexpr std::size_t kMaxSiteNameBytes = 64;
constexpr std::size_t kMaxSummaryBytes = 400;
constexpr std::size_t kMaxPathBytes = 4'096;

// Value of `connection` for librdmacm, which connects RC queue pairs only.
constexpr std::string_view kManager = "rdma_cm";

// A key, and what a task may say that decides the same.
struct Key {
  std::string_view name;
  std::string_view beside{};
};
constexpr std::array kKeys{Key{"traffic_class"},
                           Key{"service_level"},
                           Key{"pkey", "pkey_index"},
                           Key{"gid_rule", "gid_index"},
                           Key{"gid_index", "gid_rule"},
                           Key{"mtu"},
                           Key{"flow_label"},
                           Key{"connection"},
                           Key{"qp_timeout"},
                           Key{"retry_count"},
                           Key{"relaxed_ordering"},
                           Key{"dmabuf_mapping"},
                           Key{"data_network"},
                           Key{"launch"}};

// Settings of NCCL are keys too; some follow from what verbs take, which a profile need not say
// twice.
struct FromVerbs {
  std::string_view nccl;
  std::string_view key;
};
constexpr std::array kFromVerbs{FromVerbs{"ib_tc", "traffic_class"},
                                FromVerbs{"ib_sl", "service_level"},
                                FromVerbs{"ib_gid_index", "gid_index"}};

// All keys that `defaults` may have.
std::vector<std::string> key_names() {
  std::vector<std::string> names;
  names.reserve(kKeys.size() + nccl_settings().size());
  for (const Key& key : kKeys) names.emplace_back(key.name);
  for (const NcclSetting& setting : nccl_settings()) names.emplace_back(setting.parameter);
  return names;
}

void read_metadata(const YamlValue& value, Site& site) {
  const std::vector<std::string> required{"name"};
  const std::vector<std::string> optional{"summary"};
  const YamlMap map(value, required, optional);
  if (const YamlValue* name = map.find("name"))
    site.name = name->text("the site's name", kMaxSiteNameBytes).value_or("");
  if (const YamlValue* summary = map.find("summary"))
    static_cast<void>(summary->text("a sentence", kMaxSummaryBytes));
}

// Values are checked later, against the declaration of each kernel.
void read_defaults(const YamlValue& value, Site& site) {
  const std::vector<std::string> known = key_names();
  const YamlMap map(value, {}, known);
  for (const std::string& name : known)
    if (const YamlValue* found = map.find(name))
      if (const auto text = found->text("a single value")) site.defaults[name] = *text;
  if (value_of(site.defaults, "gid_rule", "index") != "index" &&
      site.defaults.contains("gid_index"))
    value.problem("gid_rule and gid_index exclude each other, unless the rule is index");
  if (value_of(site.defaults, "connection") == kManager && site.defaults.contains("pkey"))
    value.problem(
        "pkey and connection: rdma_cm exclude each other: the connection manager chooses "
        "the partition");
}

// The source decides which of the other keys are allowed.
void read_topology_source(const YamlValue& value, Site& site) {
  const std::vector<std::string> required{"source"};
  const std::vector<std::string> optional{"file", "leaf", "pod"};
  const YamlMap map(value, required, optional);
  const auto words = topology_words();
  TopologySource& topology = site.topology;
  if (const YamlValue* source = map.find("source")) {
    topology.source = source->text("one of " + one_of(words)).value_or("");
    if (!topology.source.empty() && std::ranges::find(words, topology.source) == words.end())
      source->problem(fmt::format("is {}; allowed: {}", in_quotes(topology.source), one_of(words)));
  }
  const bool by_labels = topology.source == "labels";
  if (const YamlValue* file = map.find("file"))
    topology.file = file->text("a file's path", kMaxPathBytes).value_or("");
  else if (!topology.source.empty() && !by_labels)
    value.problem("lacks the key file: what the source printed");
  for (const auto& [key, to] :
       {std::pair{"leaf", &topology.leaf_label}, std::pair{"pod", &topology.pod_label}})
    if (const YamlValue* label = map.find(key)) {
      if (!by_labels) label->key_problem("only with source: labels");
      *to = label->text("a label's name").value_or(*to);
    }
}

void read_labels(const YamlValue& value, Site& site) {
  const std::vector<std::string> required{"file"};
  const YamlMap map(value, required, {});
  if (const YamlValue* file = map.find("file"))
    site.labels_file = file->text("a file's path", kMaxPathBytes).value_or("");
}

// A set's labels are compared with nodes when it is used; its form is checked here.
void read_groups(const YamlValue& value, Site& site) {
  for (const YamlValue::Entry& group : value.entries("a mapping of names to node sets")) {
    if (!is_label_value(group.name))
      group.value.key_problem(fmt::format(
          "is no group's name; allowed are 1 to {} letters, digits and . _ - :", kMaxLabelBytes));
    const auto nodes = group.value.text("a node set", kMaxSiteBytes);
    if (!nodes) continue;
    if (nodes->find('@') != std::string::npos)
      group.value.problem("has another group; a group is names and labels");
    site.groups[group.name] = *nodes;
  }
}

void read_priority(const YamlValue& value, Site& site) {
  constexpr std::int64_t kPriorities = 8;
  const auto text = value.text("a priority from 0 to 7");
  if (!text) return;
  const auto number = parse_integer(*text);
  if (number && *number >= 0 && *number < kPriorities)
    site.lossless_priority = static_cast<std::uint32_t>(*number);
  else
    value.problem(fmt::format("is {}; allowed: 0 to 7", in_quotes(*text)));
}

Site read(const YamlValue& root) {
  Site site;
  const std::vector<std::string> required{"version", "metadata", "defaults"};
  const std::vector<std::string> optional{"topology", "lossless_priority", "labels", "groups"};
  const YamlMap map(root, required, optional);
  if (const YamlValue* version = map.find("version")) read_version(*version, kSiteVersion);
  if (const YamlValue* metadata = map.find("metadata")) read_metadata(*metadata, site);
  if (const YamlValue* defaults = map.find("defaults")) read_defaults(*defaults, site);
  if (const YamlValue* priority = map.find("lossless_priority")) read_priority(*priority, site);
  if (const YamlValue* topology = map.find("topology")) read_topology_source(*topology, site);
  if (const YamlValue* labels = map.find("labels")) read_labels(*labels, site);
  if (const YamlValue* groups = map.find("groups")) read_groups(*groups, site);
  return site;
}

// All errors of a profile begin alike.
tl::unexpected<Error> wrong(std::string message) {
  return fail(Code::kInvalidArgument, "site profile " + std::move(message));
}

// Reports whether the task sets the key itself, or sets a value that excludes the profile's
// `value`.
bool decides(const std::map<std::string, std::string>& parameters, const Key& key,
             std::string_view value) {
  if (parameters.contains(std::string(key.name)) || parameters.contains(std::string(key.beside)))
    return true;
  if (key.name == "pkey") return value_of(parameters, "connection") == kManager;
  return key.name == "connection" && value == kManager &&
         (!value_of(parameters, "pkey").empty() || value_of(parameters, "pkey_index", "0") != "0" ||
          value_of(parameters, "transport", "RC") != "RC");
}

}  // namespace

// The first problem is the error; the number of others follows it.
Result<Site> read_site(std::string_view text, std::string_view file_name) {
  Site site;
  const auto problems = read_yaml(text, file_name, {.max_bytes = kMaxSiteBytes},
                                  [&site](const YamlValue& root) { site = read(root); });
  site.file = file_name;
  if (!problems.empty()) return wrong(error_of(problems).message);
  return site;
}

Result<Site> read_site_file(const std::string& path) {
  const auto text = read_whole_file(path, kMaxSiteBytes);
  if (!text) return wrong(text.error().message);
  return read_site(*text, path);
}

namespace {

using Defaults = std::map<std::string, std::string>;

// Gives `parameter` the profile's value of `key`, where the kernel declares it. Whether it does.
Result<bool> add_default(const Site& site, const std::string& key, const KernelInfo& kernel,
                         const std::string& parameter, Defaults& parameters) {
  const auto& declared = kernel.parameters();
  const auto found = std::ranges::find(declared, parameter, &ParameterInfo::name);
  if (found == declared.end()) return false;
  auto checked = check_parameter(*found, site.defaults.at(key));
  if (!checked)
    return wrong(fmt::format("{}: defaults.{}: {}", site.file, key, checked.error().message));
  parameters[parameter] = std::move(*checked);
  return true;
}

// The key of the profile that decides a setting of NCCL; "" for none.
std::string key_of(const Site& site, const NcclSetting& setting) {
  if (site.defaults.contains(std::string(setting.parameter))) return std::string(setting.parameter);
  const auto* const from = std::ranges::find(kFromVerbs, setting.parameter, &FromVerbs::nccl);
  if (from == kFromVerbs.end() || !site.defaults.contains(std::string(from->key))) return "";
  return std::string(from->key);
}

}  // namespace

// Verbs keys first, then settings of NCCL, which may follow from them.
Result<std::vector<std::string>> add_site_defaults(const Site& site, const KernelInfo& kernel,
                                                   std::map<std::string, std::string>& parameters) {
  const Defaults given = parameters;
  std::vector<std::string> added;
  for (const Key& key : kKeys) {
    const auto own = site.defaults.find(std::string(key.name));
    if (own == site.defaults.end() || decides(given, key, own->second)) continue;
    if (RG_TRY(add_default(site, own->first, kernel, own->first, parameters)))
      added.push_back(own->first);
  }
  const bool clean = value_of(given, "environment") == "clean";
  for (const NcclSetting& setting : nccl_settings()) {
    const std::string parameter(setting.parameter);
    const std::string key = key_of(site, setting);
    if (clean || key.empty() || given.contains(parameter)) continue;
    if (RG_TRY(add_default(site, key, kernel, parameter, parameters))) added.push_back(parameter);
  }
  std::ranges::sort(added);
  return added;
}

}  // namespace railgauge::plan
