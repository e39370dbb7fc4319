// Checks of the installation itself, each with a remedy. Pure: the caller gathers the facts.
#pragma once

#include <optional>
#include <string>

#include "controller/api/control.pb.h"
#include "controller/api/site.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

// A question that was asked; `error`: why there is no answer.
struct Asked {
  bool has_answer = false;
  std::string text{};  // of the answer, or of the error
};

struct DoctorFacts {
  double now = 0;  // of this host, seconds since 1970
  std::string version{};
  std::string address{};  // of the controller
  std::string trouble{};  // why it did not answer; "": it did
  // It was not asked, since a certificate of this user cannot be used.
  bool has_no_channel = false;
  double answer_seconds = 0;
  std::optional<api::Installation> installation{};  // absent: no answer
  api::NodeList nodes{};
  api::ScheduleList schedules{};
  api::EventList deliveries{};     // events of deliveries, the newest first
  std::optional<Asked> metrics{};  // of the controller's port; absent: it was not asked
  std::optional<double> user_certificate_ends{};
  std::string user_certificate_fault{};  // why it could not be read
};

// The checks in a fixed order. Where the controller did not answer, the checks that need its answer
// are `unknown`.
api::DoctorReport examine(const DoctorFacts& facts);

// 4 without an answer of the controller, 1 with a failed check, else 0: a warning fails nobody.
int exit_code_of(const api::DoctorReport& report, const DoctorFacts& facts);

}  // namespace railgauge::cli
