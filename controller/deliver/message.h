// A report as the message that one kind of receiver takes. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/api/site.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::deliver {

enum class Format {
  kJson,   // one object with the report; deploy/docs/guide/deliveries.md has its members
  kSlack,  // {"text": ...}, as incoming webhooks of Slack take it
  kTeams,  // a message with one adaptive card, as workflows of Teams take it
  kMail,   // a message with headers and plain text, as sendmail -t takes it
};
inline constexpr std::string_view kFormatNames[] = {"json", "slack", "teams"};
// Returns the format of a name above. The name was checked.
Format format_of(std::string_view name);

// A report with the reason for sending it.
struct Dispatch {
  std::string delivery_id{};
  std::string cause{};                   // "run", or "finding" of one that a run confirmed
  std::vector<std::string> confirmed{};  // ids of findings
  const api::SiteReport& report;
};
// "run R: " of a delivery that is a run's report, as a line of the log begins; else "".
std::string subject_of_delivery(const std::string& delivery_id);

// The head of mails.
struct MailHead {
  std::string to{};
  std::string from{};  // "": the mail program's own
  double at = 0;       // unix seconds
};

// Writes the body. `wording`: the text of a template, whose {{names}} are replaced; "": the usual
// page.
std::string body_of(const Dispatch& dispatch, Format format, const std::string& wording,
                    const MailHead& mail);

// kInvalidArgument: a name in braces that no message has, with the closest one.
Status check_wording(const std::string& wording);

// The headers of one attempt, in order. `secret` "": no signature. `unix_seconds`: of the attempt.
std::vector<std::pair<std::string, std::string>> headers_of(const std::string& delivery_id,
                                                            const std::string& body,
                                                            const std::string& secret,
                                                            double unix_seconds);

}  // namespace railgauge::deliver
