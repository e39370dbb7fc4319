// The bounds of an agent's words about itself, and the row that the store keeps of them. Nothing of
// a Hello or of a preflight's answer that is beyond the bounds is logged, stored or kept. Pure;
// thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "controller/api/agent.pb.h"
#include "controller/api/hello_bounds.h"
#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

inline constexpr std::size_t kMaxNameBytes = 253;
inline constexpr std::size_t kMaxIdBytes = 64;

// Whether the text may be a node's name. A name is part of endpoints (node/DEV:PORT) and node sets,
// so their separators are not allowed in it.
bool is_node_name(std::string_view name);
// Returns the kernels that the Hello declares. kInvalidArgument: the Hello, one of its lists or one
// of its texts is beyond the contract's bounds, a text has control characters, its name or ids are
// none, two devices have one slot or name, or a kernel cannot be read. The message holds no text of
// the Hello beyond its name.
Result<KernelList> check_bounds(const api::Hello& hello);

// Returns the store's row of a node that said this, with its endpoints. Address and certificate are
// the caller's to fill in.
store::NodeRow node_row(const api::Hello& hello);

// Bounds of a preflight's answer. A node with many ports has some hundred checks.
inline constexpr std::size_t kMaxAnswerBytes = 1U << 20U;
inline constexpr int kMaxAnswerChecks = 1'024;
inline constexpr int kMaxAnswerPairs = 1'024;
// Makes the texts of an answer visible, as printable() writes them. An answer that is beyond the
// bounds, of its lists, of one text or in all, becomes the error of its node: it keeps its request
// id alone.
void bound_answer(api::PreflightAnswer& answer);

// Shortens and cleans what an attached agent says later, so that each text is one line of bounded
// length: the work that keeps its node busy, and the reasons of its refusals and ends. Bounds its
// answer to a preflight.
void bound_texts(api::AgentMessage& message);

// One line of at most 512 bytes.
std::string short_line(std::string_view text);

}  // namespace railgauge::fleet
