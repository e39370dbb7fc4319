// One attempt to hand a message over. Programs do it, which get the message on stdin: `sendmail`,
// and for HTTP the controller's own, because httplib's sockets are select()'s, which takes no
// descriptor beyond 1,024, and a large fleet has more.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "controller/deliver/targets.h"
#include "kernels/core/base/result.h"

namespace railgauge::deliver {

// The end of an attempt.
struct Sent {
  enum class Kind {
    kTaken,
    kRefused,  // a repeat of the same message would be refused as well
    kLater,    // a repeat may work
  };
  Kind kind = Kind::kTaken;
  std::string cause{};  // unless it was taken
};
// A message of one target.
struct Letter {
  std::string delivery_id{};
  std::string body{};
};
// Blocks for some 20 s at most. When `is_ending` returns true it comes back at once with kLater.
using Send = std::function<Sent(const Letter& letter, const std::function<bool()>& is_ending)>;

// Makes the sender of a target. `post_program` is started with kPostProcessFlag for HTTP; "": the
// message is posted in this process.
Send sender_of(const Target& target, const std::string& post_program);

// The only argument of the program that posts the message on stdin; returns its exit code.
inline constexpr std::string_view kPostProcessFlag = "--post-process";
int serve_post_process();

}  // namespace railgauge::deliver
