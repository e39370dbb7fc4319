// The generation of a controller's lease in messages between agent and controller: field 60, a
// uint64, of Hello, Welcome, PrepareTask and GoTask. In a Hello it is the highest one that the
// agent has seen. 0, and a message without the field: there is no lease.
#pragma once

#include <cstdint>

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

namespace railgauge::api {

inline constexpr int kGenerationField = 60;

// The field is written and read as bytes of the wire, so that agent.proto, which nearly every
// source of both programs includes, need not name it.
inline void set_generation(google::protobuf::Message& message, std::uint64_t generation) {
  auto* fields = message.GetReflection()->MutableUnknownFields(&message);
  fields->DeleteByNumber(kGenerationField);
  if (generation > 0) fields->AddVarint(kGenerationField, generation);
}

// The last one counts, as for any field of a message.
inline std::uint64_t generation_of(const google::protobuf::Message& message) {
  std::uint64_t generation = 0;
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    const bool is_it = field.number() == kGenerationField &&
                       field.type() == google::protobuf::UnknownField::TYPE_VARINT;
    if (is_it) generation = field.varint();
  }
  return generation;
}

}  // namespace railgauge::api
