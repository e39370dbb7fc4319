// The page of a certificate. Pure.
#pragma once

#include <string>

#include "controller/certificate/document.h"

namespace railgauge::cli {

// One screen of 80 columns: what the certificate is about, what was tested and what was not, and
// the smallest losses that it would have shown. Lists are cut; the document has all of them.
std::string certificate_text(const certificate::Opened& certificate, bool colour);

}  // namespace railgauge::cli
