// Nodes with what is known of them, for the verbs that look into one.
#pragma once

#include <string>

#include "controller/api/control.pb.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// With facts and stacks. Errors: kNotFound when the controller knows none of the set; those of the
// call.
Result<railgauge::api::NodeList> ask_nodes_with_facts(Session& session,
                                                      const std::string& node_set);

}  // namespace railgauge::cli
