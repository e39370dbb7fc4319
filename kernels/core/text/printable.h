// Texts of a whole message made safe for a terminal.
#pragma once

#include <google/protobuf/message.h>

namespace railgauge {

// Replaces every text of the message, keys of maps included, by printable_lines() of it. Thread
// safe for messages that no other thread uses.
void make_printable(google::protobuf::Message& message);

}  // namespace railgauge
