// Where reports go, from the settings. Reading checks each file that a target needs.
#pragma once

#include <string>
#include <vector>

#include "controller/deliver/message.h"
#include "controller/http/post.h"
#include "kernels/core/base/result.h"

namespace railgauge::deliver {

// The settings, as they are written; "" of a place: nothing goes there.
struct Wishes {
  std::string webhook_url{};  // a URL, or the absolute path of a file with it
  std::string webhook_format = "json";
  std::string chat_url{};  // likewise
  std::string chat_format = "slack";
  std::string secret_file{};  // signs what both get
  std::string ca_file{};
  std::string sendmail{};
  std::string mail_to{};
  std::string mail_from{};
  std::string template_file{};
};

// One place that gets every report.
struct Target {
  std::string name{};   // "webhook", "chat", "mail"
  std::string where{};  // for people: the server, or the program; no path of a URL
  Format format = Format::kJson;
  std::string wording{};  // of the template
  http::Url url{};        // unless it is mail
  std::string secret{};   // "": unsigned
  std::string ca_file{};
  std::string program{};  // of mail
  MailHead mail{};        // without its time
};

// kInvalidArgument: a setting without the one that it needs. Pure.
Status check_wishes(const Wishes& wishes);
// Errors, beside those of check_wishes(), are kInvalidArgument and name setting and file: a URL
// that is none, a secret or template that cannot be read, a program that cannot be executed.
Result<std::vector<Target>> read_targets(const Wishes& wishes);

}  // namespace railgauge::deliver
