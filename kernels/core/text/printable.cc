// A walk over a message by protobuf's reflection.
#include "kernels/core/text/printable.h"

#include <algorithm>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Most texts are plain, and reading them is cheaper than writing them anew.
bool is_plain(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 && c < 0x7F; });
}

void make_text_printable(Message& message, const FieldDescriptor& field) {
  const auto* reflection = message.GetReflection();
  std::string scratch;
  if (!field.is_repeated()) {
    const std::string& text = reflection->GetStringReference(message, &field, &scratch);
    if (!is_plain(text)) reflection->SetString(&message, &field, printable_lines(text));
    return;
  }
  for (int i = 0; i < reflection->FieldSize(message, &field); ++i) {
    const std::string& text = reflection->GetRepeatedStringReference(message, &field, i, &scratch);
    if (!is_plain(text)) reflection->SetRepeatedString(&message, &field, i, printable_lines(text));
  }
}

}  // namespace

// Only fields that are set are listed, so that an empty message costs nothing.
void make_printable(Message& message) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() == FieldDescriptor::TYPE_STRING) make_text_printable(message, *field);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      make_printable(*reflection->MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      make_printable(*reflection->MutableRepeatedMessage(&message, field, i));
  }
}

}  // namespace railgauge
