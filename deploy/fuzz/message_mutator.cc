// Walks down from the root by chance and changes one field of the message where it stops.
#include "deploy/fuzz/message_mutator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>

#include <google/protobuf/descriptor.h>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace railgauge::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kMaxTextBytes = 300;
constexpr int kMaxRepeated = 8;
constexpr std::uint64_t kMaxDepth = 4;

class Mutation {
 public:
  explicit Mutation(unsigned seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  void change(Message& message, std::uint64_t depth = 0) {
    const auto* descriptor = message.GetDescriptor();
    if (descriptor->field_count() == 0) return;
    const FieldDescriptor* field = descriptor->field(
        static_cast<int>(below(static_cast<std::uint64_t>(descriptor->field_count()))));
    // A present part of a oneof is changed more often than it is replaced by another.
    if (field->real_containing_oneof() != nullptr && below(4) != 0)
      if (const auto* set = message.GetReflection()->GetOneofFieldDescriptor(
              message, field->real_containing_oneof()))
        field = set;
    if (below(10) == 0) return message.GetReflection()->ClearField(&message, field);
    if (field->is_repeated())
      change_repeated(message, field, depth);
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      go_down(*message.GetReflection()->MutableMessage(&message, field), depth);
    else
      set(message, field);
  }

 private:
  void go_down(Message& message, std::uint64_t depth) {
    if (depth < kMaxDepth) change(message, depth + 1);
  }

  void change_repeated(Message& message, const FieldDescriptor* field, std::uint64_t depth) {
    const Reflection* reflection = message.GetReflection();
    const int size = reflection->FieldSize(message, field);
    if (size > 1 && below(4) == 0)
      reflection->SwapElements(&message, field, static_cast<int>(below(size)), size - 1);
    if (size > 0 && below(6) == 0) return reflection->RemoveLast(&message, field);
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (is_message && size > 0 && below(3) != 0)
      return go_down(
          *reflection->MutableRepeatedMessage(&message, field, static_cast<int>(below(size))),
          depth);
    if (size >= kMaxRepeated) return;
    if (!is_message) return add(message, field);
    Message* added = reflection->AddMessage(&message, field);
    if (size > 0 && below(2) == 0)
      added->CopyFrom(
          reflection->GetRepeatedMessage(message, field, static_cast<int>(below(size))));
    go_down(*added, depth);
  }

  std::uint64_t number() {
    constexpr std::array<std::uint64_t, 8> kEdges{
        0, 1, 2, UINT32_MAX, 1U << 20U, (1U << 20U) - 1, 1'000, 1'001};
    switch (below(3)) {
      case 0:
        return kEdges.at(below(kEdges.size()));
      case 1:
        return below(16);
      default:
        return random_();
    }
  }

  double real() {
    using Limits = std::numeric_limits<double>;
    constexpr std::array kEdges{0.0,
                                -1.0,
                                1.0,
                                1e18,
                                253402300799.0,
                                Limits::infinity(),
                                1e308,
                                Limits::quiet_NaN(),
                                Limits::denorm_min()};
    return below(2) == 0 ? kEdges.at(below(kEdges.size()))
                         : static_cast<double>(random_()) / static_cast<double>(1 + random_());
  }

  std::string text(std::string old) {
    const std::size_t size = std::min(old.size(), kMaxTextBytes);
    old.resize(kMaxTextBytes);
    old.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(old.data()), size, kMaxTextBytes));
    return old;
  }

  void set(Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection->SetInt32(&message, field, static_cast<std::int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection->SetInt64(&message, field, static_cast<std::int64_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection->SetUInt32(&message, field, static_cast<std::uint32_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection->SetUInt64(&message, field, number());
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->SetDouble(&message, field, real());
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection->SetBool(&message, field, below(2) == 0);
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->SetString(&message, field, text(reflection->GetString(message, field)));
      default:
        return;  // no other type is in our messages
    }
  }

  void add(Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection->AddUInt32(&message, field, static_cast<std::uint32_t>(number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return reflection->AddDouble(&message, field, real());
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->AddString(&message, field, text(""));
      default:
        return;
    }
  }

  std::minstd_rand random_;
};

}  // namespace

void change_message(Message& message, unsigned seed) { Mutation(seed).change(message); }

std::size_t mutate_message(const Message& prototype, std::uint8_t* data, std::size_t size,
                           std::size_t max_size, unsigned seed,
                           const std::function<void(Message&, unsigned)>& mend) {
  Mutation mutation(seed);
  const std::unique_ptr<Message> message(prototype.New());
  if (mutation.below(8) == 0 || !message->ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  for (std::uint64_t changes = 1 + mutation.below(3); changes > 0; --changes)
    mutation.change(*message);
  mend(*message, seed);
  const std::size_t bytes = message->ByteSizeLong();
  if (bytes > max_size) return LLVMFuzzerMutate(data, size, max_size);
  message->SerializeToArray(data, static_cast<int>(max_size));
  return bytes;
}

}  // namespace railgauge::fuzz
