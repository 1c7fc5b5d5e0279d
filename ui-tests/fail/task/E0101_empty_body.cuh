// To be written.
#pragma once
