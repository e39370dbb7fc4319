#include "controller/cli/mcp/window.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli::mcp {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kLongText = 2'000;  // bytes of a text that is cut when nothing else helps

// The size of the answer's part that is bounded.
std::size_t bytes_of(const Message& message) {
  return to_json(message, JsonLayout::kCompact).size();
}

// The lists that were cut, by their path: the longest, and how many entries are left of it.
using Cuts = std::map<std::string, std::pair<int, int>>;

// Leaves the first `most` entries of the list. Entries of a map have no order, so any are left.
void drop_beyond(Message& message, const FieldDescriptor& field, int most) {
  while (message.GetReflection()->FieldSize(message, &field) > most)
    message.GetReflection()->RemoveLast(&message, &field);
}

// Cuts every list of the message and of its parts to `most` entries, but `spared` of the message
// itself.
void cut_lists(Message& message, int most, const FieldDescriptor* spared, const std::string& path,
               Cuts& cuts) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string name = path.empty() ? field->name() : path + "." + field->name();
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (is_message)
        cut_lists(*reflection.MutableMessage(&message, field), most, nullptr, name, cuts);
      continue;
    }
    const int size = reflection.FieldSize(message, field);
    if (field != spared && size > most) {
      drop_beyond(message, *field, most);
      auto& [longest, left] = cuts[name];
      longest = std::max(longest, size);
      left = most;
    }
    if (!is_message || field->is_map()) continue;
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      cut_lists(*reflection.MutableRepeatedMessage(&message, field, i), most, nullptr, name, cuts);
  }
}

// Cuts every text of the message and of its parts. Returns whether there was a longer one.
bool cut_texts(Message& message, std::size_t most) {
  const Reflection& reflection = *message.GetReflection();
  bool any = false;
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  const auto shortened = [&](const std::string& text) {
    any = any || text.size() > most;
    return text.size() > most ? std::string(beginning_of(text, most)) + "..." : text;
  };
  for (const FieldDescriptor* field : fields) {
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    const auto type = field->cpp_type();
    for (int i = 0; i < size; ++i) {
      if (type == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map())
        any |=
            cut_texts(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                           : *reflection.MutableMessage(&message, field),
                      most);
      if (type != FieldDescriptor::CPPTYPE_STRING) continue;
      if (field->is_repeated())
        reflection.SetRepeatedString(&message, field, i,
                                     shortened(reflection.GetRepeatedString(message, field, i)));
      else
        reflection.SetString(&message, field, shortened(reflection.GetString(message, field)));
    }
  }
  return any;
}

// The rows of one document while they are cut.
class RowCutter {
 public:
  RowCutter(Document& document, const Window& window)
      : document_(document),
        message_(*document.message),
        field_(document.rows.empty() ? nullptr
                                     : message_.GetDescriptor()->FindFieldByName(document.rows)),
        first_(window.offset),
        has_more_(document.has_more) {
    RG_CHECK(document.rows.empty() || (field_ != nullptr && field_->is_repeated()));
    if (field_ == nullptr) return;
    drop_front(window.offset - std::min(window.offset, document.skipped));
    drop_back_to(window.limit);
  }

  // Leaves as many rows as fit, but one at least.
  void fit(std::size_t most_bytes) {
    for (std::size_t bytes = bytes_of(message_); bytes > most_bytes && size() > 1;
         bytes = bytes_of(message_)) {
      const auto share = static_cast<double>(most_bytes) / static_cast<double>(bytes);
      const auto guess = static_cast<std::uint32_t>(share * size());
      drop_back_to(std::clamp(guess, 1U, size() - 1));
      is_full_ = true;
    }
  }

  [[nodiscard]] const FieldDescriptor* field() const { return field_; }
  // Says which rows are left and how to ask for those that follow; "" where all are there.
  [[nodiscard]] std::string note() const {
    if (field_ == nullptr || (!has_more_ && first_ == 0)) return "";
    const std::string which =
        size() == 0
            ? fmt::format("{}: there is none from offset {} on", document_.rows, first_)
            : fmt::format("{}: {} to {} are shown", document_.rows, first_ + 1, first_ + size());
    if (!has_more_) return which + "; no more follow";
    return fmt::format("{}{}, more follow: offset {} shows them", which,
                       is_full_ ? ", as many as an answer has room for" : "", first_ + size());
  }

 private:
  [[nodiscard]] std::uint32_t size() const {
    return field_ == nullptr
               ? 0
               : static_cast<std::uint32_t>(message_.GetReflection()->FieldSize(message_, field_));
  }
  // Reverses rows, so that the end which the window counts from is first.
  void turn() {
    if (!document_.is_newest_last) return;
    for (std::uint32_t low = 0, high = size(); low + 1 < high; ++low) {
      --high;
      message_.GetReflection()->SwapElements(&message_, field_, static_cast<int>(low),
                                             static_cast<int>(high));
    }
  }
  // Drops rows at the end that the window counts from.
  void drop_front(std::uint32_t count) {
    if (count == 0) return;
    const std::uint32_t left = size() - std::min(count, size());
    if (!document_.is_newest_last)
      for (std::uint32_t i = 0; i < left; ++i)
        message_.GetReflection()->SwapElements(&message_, field_, static_cast<int>(i),
                                               static_cast<int>(size() - left + i));
    drop_beyond(message_, *field_, static_cast<int>(left));
  }
  // Drops rows at the other end, so that `most` are left.
  void drop_back_to(std::uint32_t most) {
    if (size() <= most) return;
    turn();
    drop_beyond(message_, *field_, static_cast<int>(most));
    turn();
    has_more_ = true;
  }

  Document& document_;
  Message& message_;
  const FieldDescriptor* field_;
  std::uint32_t first_;
  bool has_more_;
  bool is_full_ = false;
};

}  // namespace

Result<std::vector<std::string>> cut(Document& document, const Window& window,
                                     std::size_t most_bytes) {
  Message& message = *document.message;
  RowCutter rows(document, window);
  Cuts cuts;
  bool has_cut_texts = false;
  // In the order of what an assistant misses least: entries inside rows, rows, more entries, texts.
  const auto is_too_large = [&] { return bytes_of(message) > most_bytes; };
  constexpr int kNested = 20;  // entries of a list inside a row that are left as long as rows are
  if (is_too_large()) cut_lists(message, kNested, rows.field(), "", cuts);
  rows.fit(most_bytes);
  for (const int most : {5, 1})
    if (is_too_large()) cut_lists(message, most, rows.field(), "", cuts);
  if (is_too_large()) has_cut_texts = cut_texts(message, kLongText);
  if (is_too_large())
    return fail(Code::kResourceExhausted,
                "the answer has {} bytes, and {} is the most; {} -o json prints it whole",
                bytes_of(message), most_bytes, document.command);
  std::vector<std::string> notes;
  if (std::string note = rows.note(); !note.empty()) notes.push_back(std::move(note));
  for (const auto& [path, counts] : cuts)
    notes.push_back(fmt::format("{}: at most {} of up to {} entries are shown; {} -o json has all",
                                path, counts.second, counts.first, document.command));
  if (has_cut_texts)
    notes.push_back(fmt::format("texts of more than {} bytes are cut; {} -o json has all of them",
                                kLongText, document.command));
  return notes;
}

// By the field's name, so that a message that gets such a field needs no line here.
bool is_synthetic(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  return std::ranges::any_of(fields, [&](const FieldDescriptor* field) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL && !field->is_repeated() &&
        field->name() == "synthetic")
      return reflection.GetBool(message, field);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) return false;
    if (!field->is_repeated()) return is_synthetic(reflection.GetMessage(message, field));
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      if (is_synthetic(reflection.GetRepeatedMessage(message, field, i))) return true;
    return false;
  });
}

}  // namespace railgauge::cli::mcp
