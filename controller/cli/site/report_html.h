// The report as one HTML file: no script, no foreign address, fit for a printer. Pure.
#pragma once

#include <string>

#include "controller/report/page.h"

namespace railgauge::cli {

// Writes the page. `matrix`: the picture of the pairs as SVG; "": none was measured.
std::string report_html(const report::Page& page, const std::string& matrix);

}  // namespace railgauge::cli
