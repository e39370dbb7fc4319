#include "controller/fleet/hello_check.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/fleet/kernels.h"
#include "kernels/core/text/labels.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {

using api::kMaxFactBytes;
using api::kMaxGpus;
using api::kMaxHelloBytes;
using api::kMaxKernels;
using api::kMaxNics;
using api::kMaxTextBytes;

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kMostLineBytes = 512;
constexpr int kMostBusyReasons = 16;
constexpr int kMostNodeEvents = 64;  // of one heartbeat; a minute has fewer
constexpr int kMostRunning = 1'024;
constexpr int kMostParameters = 256;  // of a kernel; ours have up to 40
constexpr double kMostRate = 1e15;    // bits per second
constexpr double kMostNumber = 1e18;  // of any field

bool is_id(std::string_view text) {
  const auto fits = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  return !text.empty() && text.size() <= kMaxIdBytes && std::ranges::all_of(text, fits);
}

// The texts and numbers of a message and of all messages inside it, maps included.
class Contents {
 public:
  explicit Contents(const Message& message) { look(message, ""); }
  std::size_t longest = 0;  // bytes of a text
  std::string unclean{};    // the field of the first text with a control character
  std::string endless{};    // the field of the first number that is not finite or too large

 private:
  void look(const Message& message, const std::string& outer) {
    const google::protobuf::Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->type() == FieldDescriptor::TYPE_BYTES) continue;
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      const std::string name = outer.empty() ? field->name() : outer;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
          look_at(field->is_repeated()
                      ? reflection.GetRepeatedStringReference(message, field, i, &scratch_)
                      : reflection.GetStringReference(message, field, &scratch_),
                  name);
        else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          look(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                    : reflection.GetMessage(message, field),
               name);
        else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE)
          look_at(field->is_repeated() ? reflection.GetRepeatedDouble(message, field, i)
                                       : reflection.GetDouble(message, field),
                  name);
      }
    }
  }
  void look_at(double number, const std::string& field) {
    if (endless.empty() && !(std::abs(number) <= kMostNumber)) endless = field;
  }
  void look_at(const std::string& text, const std::string& field) {
    longest = std::max(longest, text.size());
    // The words of busy nodes come from files of their users: bound_texts() cleans them.
    if (unclean.empty() && field != "busy" && api::has_control(text)) unclean = field;
  }
  std::string scratch_;
};

template <class Map>
std::size_t bytes_of(const Map& map) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : map) bytes += name.size() + value.size();
  return bytes;
}

tl::unexpected<Error> too_large(std::string_view what, std::size_t is, std::size_t most) {
  return fail(Code::kInvalidArgument,
              fmt::format("its Hello has {} {}, at most {} are allowed", is, what, most));
}

Status check_devices(const api::Hello& hello) {
  api::Devices devices;
  const auto check = [&](const auto& all, const auto& name_of) -> Status {
    for (const auto& device : all) {
      if (!api::is_device_name(name_of(device)))
        return fail(
            Code::kInvalidArgument,
            fmt::format("node {}: its Hello has a device whose name is none", hello.name()));
      if (!devices.add(device))
        return fail(Code::kInvalidArgument,
                    fmt::format("node {}: its Hello has two devices in one slot or of one name: {}",
                                hello.name(), in_quotes(name_of(device))));
    }
    return {};
  };
  for (const api::Nic& nic : hello.nics())
    if (!(nic.rate_bits_per_second() >= 0 && nic.rate_bits_per_second() <= kMostRate))
      return fail(Code::kInvalidArgument,
                  fmt::format("node {}: its Hello has a NIC with a rate of {} bits per second",
                              hello.name(), nic.rate_bits_per_second()));
  RG_TRY_OK(check(hello.nics(), [](const api::Nic& nic) { return nic.device(); }));
  return check(hello.gpus(), [](const api::Gpu& gpu) { return gpu.name(); });
}

// A name of a kernel, parameter or metric: messages and tables show it without quotes.
bool is_word(std::string_view text) {
  constexpr std::size_t kMostBytes = 128;
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= kMostBytes && std::ranges::all_of(text, fits) &&
         text.back() != '.';
}

// The first word of a declaration that is none; nothing where all are sound.
std::optional<std::string> bad_word(const KernelInfo& kernel) {
  if (!is_word(kernel.name())) return kernel.name();
  if (!kernel.endpoint_kind().empty() && !is_word(kernel.endpoint_kind()))
    return kernel.endpoint_kind();
  for (const std::string& metric : kernel.metrics())
    if (!is_word(metric)) return metric;
  for (const ParameterInfo& parameter : kernel.parameters())
    for (const std::string* text : {&parameter.name(), &parameter.type()})
      if (!is_word(*text)) return *text;
  return std::nullopt;
}

Result<KernelList> read_kernels(const api::Hello& hello) {
  KernelList list;
  for (const std::string& bytes : hello.kernels())
    if (!list.add_kernels()->ParseFromString(bytes))
      return fail(Code::kInvalidArgument,
                  fmt::format("node {}: kernel {} of its Hello cannot be read", hello.name(),
                              list.kernels_size()));
  return list;
}

// Names are unique: readers of a declaration would find different ones of a name.
Status check_kernels(const std::string& node, const KernelList& list) {
  const auto refuse = [&](std::string_view kernel, const std::string& what) {
    return fail(Code::kInvalidArgument,
                fmt::format("node {}: its Hello has kernel {} {}", node, in_quotes(kernel), what));
  };
  std::set<std::string_view> kernels;
  for (const KernelInfo& kernel : list.kernels()) {
    if (!kernels.insert(kernel.name()).second) return refuse(kernel.name(), "twice");
    if (kernel.parameters_size() > kMostParameters)
      return refuse(kernel.name(), fmt::format("with {} parameters, at most {} are allowed",
                                               kernel.parameters_size(), kMostParameters));
    if (kernel.metrics_size() > kMostMetrics)
      return refuse(kernel.name(), fmt::format("with {} metrics, at most {} are allowed",
                                               kernel.metrics_size(), kMostMetrics));
    if (const auto word = bad_word(kernel))
      return refuse(kernel.name(), fmt::format("with {}: names are 1 to 128 letters, digits, '.', "
                                               "'-' and '_'",
                                               in_quotes(beginning_of(*word, 64))));
    std::set<std::string_view> parameters;
    for (const ParameterInfo& parameter : kernel.parameters())
      if (!parameters.insert(parameter.name()).second)
        return refuse(kernel.name(),
                      fmt::format("with parameter {} twice", in_quotes(parameter.name())));
  }
  return {};
}

}  // namespace

bool is_node_name(std::string_view name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, fits);
}

namespace {

Status check_texts(const std::string& node, const Contents& contents) {
  if (!contents.unclean.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("node {}: its Hello has a control character in a text of {}", node,
                            contents.unclean));
  if (!contents.endless.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("node {}: its Hello has a number in {} that is not finite or too large",
                            node, contents.endless));
  return {};
}

}  // namespace

// Sizes first: a list that is too long is not walked.
Result<KernelList> check_bounds(const api::Hello& hello) {
  const auto list = [](std::string_view what, int is, int most) -> Status {
    if (is <= most) return {};
    return too_large(what, static_cast<std::size_t>(is), static_cast<std::size_t>(most));
  };
  if (const std::size_t bytes = hello.ByteSizeLong(); bytes > kMaxHelloBytes)
    return too_large("bytes", bytes, kMaxHelloBytes);
  RG_TRY_OK(list("NIC ports", hello.nics_size(), kMaxNics));
  RG_TRY_OK(list("GPUs", hello.gpus_size(), kMaxGpus));
  RG_TRY_OK(list("kernels", hello.kernels_size(), kMaxKernels));
  RG_TRY_OK(list("running tasks", hello.running_size(), kMostRunning));
  const std::size_t facts =
      bytes_of(hello.facts()) + bytes_of(hello.stack_versions()) + bytes_of(hello.stack_settings());
  if (facts > kMaxFactBytes) return too_large("bytes of facts", facts, kMaxFactBytes);
  RG_TRY_OK(list("labels", static_cast<int>(hello.labels().size()), static_cast<int>(kMaxLabels)));
  const Contents contents(hello);
  if (contents.longest > kMaxTextBytes)
    return too_large("bytes in one text", contents.longest, kMaxTextBytes);
  if (!is_node_name(hello.name()))
    return fail(
        Code::kInvalidArgument,
        fmt::format("a node's name is 1 to {} letters, digits, '.', '-' and '_'", kMaxNameBytes));
  if (!is_id(hello.node_id()) || !is_id(hello.incarnation()))
    return fail(Code::kInvalidArgument,
                fmt::format("node {}: node id and incarnation are 1 to {} visible characters",
                            hello.name(), kMaxIdBytes));
  RG_TRY_OK(check_texts(hello.name(), contents));
  KernelList kernels = RG_TRY(read_kernels(hello));
  const Contents declared(kernels);
  if (declared.longest > kMaxTextBytes)
    return too_large("bytes in one text", declared.longest, kMaxTextBytes);
  RG_TRY_OK(check_texts(hello.name(), declared));
  RG_TRY_OK(check_kernels(hello.name(), kernels));
  for (const auto& [key, value] : hello.labels())
    if (!parse_label(fmt::format("{}={}", key, value)))
      return fail(Code::kInvalidArgument,
                  fmt::format("node {}: its Hello has a label that is none", hello.name()));
  RG_TRY_OK(check_devices(hello));
  return kernels;
}

// Cut twice: an escape is longer than its character.
std::string short_line(std::string_view text) {
  const std::string line = printable(valid_utf8(beginning_of(text, kMostLineBytes)));
  return std::string(beginning_of(line, kMostLineBytes));
}

namespace {

void bound_busy(api::BusyState& busy) {
  if (busy.reasons_size() > kMostBusyReasons)
    busy.mutable_reasons()->DeleteSubrange(kMostBusyReasons,
                                           busy.reasons_size() - kMostBusyReasons);
  for (api::BusyReason& reason : *busy.mutable_reasons()) {
    reason.set_source(short_line(reason.source()));
    reason.set_text(short_line(reason.text()));
  }
}

std::string several_lines(std::string_view text) {
  return std::string(beginning_of(text, kMaxTextBytes));
}

// Writes every text of the message as printable() does; it has no maps.
void clean_texts(Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      if (!field->is_repeated())
        reflection.SetString(&message, field, printable(reflection.GetString(message, field)));
      for (int i = 0; i < count; ++i)
        reflection.SetRepeatedString(&message, field, i,
                                     printable(reflection.GetRepeatedString(message, field, i)));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) clean_texts(*reflection.MutableMessage(&message, field));
      for (int i = 0; i < count; ++i)
        clean_texts(*reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
}

Status check_answer(const api::PreflightAnswer& answer) {
  const auto fits = [](std::string_view what, std::size_t is, std::size_t most) -> Status {
    if (is <= most) return {};
    return fail(Code::kInvalidArgument,
                fmt::format("its answer has {} {}, at most {} are allowed; restart its agent, or "
                            "see what railgauge-agent --preflight prints there",
                            is, what, most));
  };
  RG_TRY_OK(fits("bytes", answer.ByteSizeLong(), kMaxAnswerBytes));
  const api::PreflightReport& report = answer.report();
  RG_TRY_OK(fits("checks", static_cast<std::size_t>(report.checks_size()), kMaxAnswerChecks));
  RG_TRY_OK(
      fits("GPU and NIC pairs", static_cast<std::size_t>(report.pairs_size()), kMaxAnswerPairs));
  RG_TRY_OK(fits("nodes", static_cast<std::size_t>(report.nodes_size()), 1));
  return fits("bytes in one text", Contents(answer).longest, kMaxTextBytes);
}

}  // namespace

// Escapes lengthen a text, so the bounds are checked again behind them.
void bound_answer(api::PreflightAnswer& answer) {
  Status sound = check_answer(answer);
  if (sound) {
    clean_texts(answer);
    sound = check_answer(answer);
  }
  if (sound) return;
  std::string id(beginning_of(answer.request_id(), kMaxIdBytes));
  answer.Clear();
  answer.set_request_id(std::move(id));
  answer.mutable_report()->add_nodes()->set_error(sound.error().message);
}

void bound_texts(api::AgentMessage& message) {
  if (message.has_hello() && message.hello().has_busy())
    bound_busy(*message.mutable_hello()->mutable_busy());
  if (message.has_heartbeat()) {
    api::Heartbeat& heartbeat = *message.mutable_heartbeat();
    if (heartbeat.has_busy()) bound_busy(*heartbeat.mutable_busy());
    if (heartbeat.events_size() > kMostNodeEvents)
      heartbeat.mutable_events()->DeleteSubrange(kMostNodeEvents,
                                                 heartbeat.events_size() - kMostNodeEvents);
    heartbeat.set_busy_task_id(short_line(heartbeat.busy_task_id()));
    if (!std::isfinite(heartbeat.spool_records()) || heartbeat.spool_records() < 0)
      heartbeat.set_spool_records(0);
  }
  if (message.has_refusal()) {
    message.mutable_refusal()->set_outcome(short_line(message.refusal().outcome()));
    message.mutable_refusal()->set_reason(several_lines(message.refusal().reason()));
  }
  if (message.has_ended()) {
    message.mutable_ended()->set_outcome(short_line(message.ended().outcome()));
    message.mutable_ended()->set_reason(several_lines(message.ended().reason()));
  }
  if (message.has_preflight()) bound_answer(*message.mutable_preflight());
}

store::NodeRow node_row(const api::Hello& hello) {
  store::NodeRow row;
  row.node_id = hello.node_id();
  row.name = hello.name();
  row.version = hello.version();
  row.facts = {hello.stack_versions().begin(), hello.stack_versions().end()};
  row.settings = {hello.stack_settings().begin(), hello.stack_settings().end()};
  row.stack_incomplete = hello.stack_incomplete();
  row.described = {hello.facts().begin(), hello.facts().end()};
  // Keys in lower case: an agent of ours writes no others.
  for (const auto& [key, value] : hello.labels())
    if (auto label = parse_label(fmt::format("{}={}", key, value)))
      row.labels.insert(std::move(*label));
  // An old agent, without named parts of the stack, reports its versions as facts.
  if (row.facts.empty()) std::swap(row.facts, row.described);
  for (const api::Nic& nic : hello.nics())
    row.endpoints.push_back({.kind = "nic",
                             .device = nic.device(),
                             .port = nic.port(),
                             .pci_address = nic.pci_address(),
                             .netdev = nic.netdev(),
                             .guid = nic.guid(),
                             .state = nic.state(),
                             .link_layer = nic.link_layer(),
                             .driver = nic.driver(),
                             .firmware = nic.firmware(),
                             .rate_bits_per_second = nic.rate_bits_per_second(),
                             .active_mtu_bytes = nic.active_mtu_bytes(),
                             .numa_node_plus_one = nic.numa_node_plus_one()});
  for (const api::Gpu& gpu : hello.gpus())
    row.endpoints.push_back({.kind = "gpu",
                             .device = gpu.name(),
                             .pci_address = gpu.pci_address(),
                             .guid = gpu.uuid(),
                             .state = gpu.state(),
                             .driver = gpu.driver(),
                             .firmware = gpu.vbios(),
                             .model = gpu.model(),
                             .numa_node_plus_one = gpu.numa_node_plus_one()});
  return row;
}

}  // namespace railgauge::fleet
