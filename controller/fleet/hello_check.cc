#include "controller/fleet/hello_check.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::fleet {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kMostLineBytes = 512;
constexpr int kMostBusyReasons = 16;

bool is_id(std::string_view text) {
  const auto fits = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  return !text.empty() && text.size() <= kMaxIdBytes && std::ranges::all_of(text, fits);
}

// The longest text of the message and of all messages inside it, maps included.
std::size_t longest_text(const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  std::size_t longest = 0;
  std::string scratch;
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
        longest = std::max(
            longest, field->is_repeated()
                         ? reflection.GetRepeatedStringReference(message, field, i, &scratch).size()
                         : reflection.GetStringReference(message, field, &scratch).size());
      else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        longest =
            std::max(longest, longest_text(field->is_repeated()
                                               ? reflection.GetRepeatedMessage(message, field, i)
                                               : reflection.GetMessage(message, field)));
    }
  }
  return longest;
}

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

}  // namespace

bool is_node_name(std::string_view name) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, fits);
}

// Sizes first: a list that is too long is not walked.
Status check_bounds(const api::Hello& hello) {
  const auto list = [](std::string_view what, int is, int most) -> Status {
    if (is <= most) return {};
    return too_large(what, static_cast<std::size_t>(is), static_cast<std::size_t>(most));
  };
  if (const std::size_t bytes = hello.ByteSizeLong(); bytes > kMaxHelloBytes)
    return too_large("bytes", bytes, kMaxHelloBytes);
  RG_TRY_OK(list("NIC ports", hello.nics_size(), kMaxNics));
  RG_TRY_OK(list("GPUs", hello.gpus_size(), kMaxGpus));
  RG_TRY_OK(list("kernels", hello.kernels_size(), kMaxKernels));
  const std::size_t facts =
      bytes_of(hello.facts()) + bytes_of(hello.stack_versions()) + bytes_of(hello.stack_settings());
  if (facts > kMaxFactBytes) return too_large("bytes of facts", facts, kMaxFactBytes);
  if (const std::size_t longest = longest_text(hello); longest > kMaxTextBytes)
    return too_large("bytes in one text", longest, kMaxTextBytes);
  if (!is_node_name(hello.name()))
    return fail(
        Code::kInvalidArgument,
        fmt::format("a node's name is 1 to {} letters, digits, '.', '-' and '_'", kMaxNameBytes));
  if (!is_id(hello.node_id()) || !is_id(hello.incarnation()))
    return fail(Code::kInvalidArgument,
                fmt::format("node {}: node id and incarnation are 1 to {} visible characters",
                            hello.name(), kMaxIdBytes));
  return {};
}

std::string short_line(std::string_view text) {
  return printable(valid_utf8(beginning_of(text, kMostLineBytes)));
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

}  // namespace

void bound_texts(api::AgentMessage& message) {
  if (message.has_hello() && message.hello().has_busy())
    bound_busy(*message.mutable_hello()->mutable_busy());
  if (message.has_heartbeat()) {
    api::Heartbeat& heartbeat = *message.mutable_heartbeat();
    if (heartbeat.has_busy()) bound_busy(*heartbeat.mutable_busy());
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
}

}  // namespace railgauge::fleet
