// The subject of a call, for the audit trail.
#pragma once

#include <string>

#include <google/protobuf/message.h>

namespace railgauge::rpc {

// Returns the request's fields that are set, as "suite.name=quick node_set=n[1-2]"; a request whose
// first field alone is set is its value. Stops after some hundred bytes, however large the request
// is. Bytes are as the peer sent them. Pure.
std::string subject_of(const google::protobuf::Message& request);

}  // namespace railgauge::rpc
