// Changes protobuf messages field by field, so that a fuzzer reaches code behind the parser. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <google/protobuf/message.h>

namespace railgauge::fuzz {

// Parses `size` bytes as a message of `prototype`'s type, changes some of its fields, calls `mend`,
// and serialises the message into `data`. Changes the bytes themselves when they are no message, in
// one of eight calls, and when the result exceeds `max_size`. `mend` may set fields that a chance
// value would never meet, such as the id of a planned run. Returns the new size.
std::size_t mutate_message(const google::protobuf::Message& prototype, std::uint8_t* data,
                           std::size_t size, std::size_t max_size, unsigned seed,
                           const std::function<void(google::protobuf::Message&, unsigned)>& mend);

// Changes one field of the message: for a message that is bytes in another one.
void change_message(google::protobuf::Message& message, unsigned seed);

}  // namespace railgauge::fuzz
