/* A stand-in for NVIDIA's management library: two GPUs, as far as the agent asks. Its mood comes from the environment:
 *   STUB_INIT_ERROR   what nvmlInit answers instead of success
 *   STUB_HANG         seconds that nvmlInit takes
 *   STUB_MIG          the second card is divided into as many parts
 *   STUB_SHARED       the first card has no memory of its own
 *   STUB_ROOT         the caller may set power limits
 *   STUB_TROUBLE      a file with "ERROR" (every call) or "ERROR CARD" (calls about that card), read at every call
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
#define GIB (1024ULL * 1024 * 1024)
#define MOST_PARTS 7

typedef struct { int card; int part; } Device;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Rates;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } Process;

static Device cards[2] = {{0, -1}, {1, -1}};
static Device parts[MOST_PARTS];
static unsigned limits[2] = {450000, 400000};
static int sessions, opened;

static const char *card_names[2] = {"NVIDIA GeForce RTX 4090", "NVIDIA A100-SXM4-40GB"};
static const char *card_ids[2] = {"GPU-11111111-2222-3333-4444-555555555555", "GPU-aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"};

static int part_count(void) { const char *text = getenv("STUB_MIG"); return text ? atoi(text) : 0; }

static int trouble(const Device *device) {
    const char *path = getenv("STUB_TROUBLE");
    FILE *file = path ? fopen(path, "r") : NULL;
    int error = 0, card = -1;
    if (file) {
        int read = fscanf(file, "%d %d", &error, &card);
        fclose(file);
        if (read < 1) error = 0;
        if (read == 2 && (!device || device->card != card)) error = 0;
    }
    if (!error && !sessions) error = 1; /* uninitialized */
    return error;
}

#define ASK(device) do { int error = trouble(device); if (error) return error; } while (0)

int stub_times_opened(void) { return opened; }

int nvmlInitWithFlags(unsigned flags) {
    const char *error = getenv("STUB_INIT_ERROR"), *hang = getenv("STUB_HANG");
    (void)flags;
    opened++;
    if (hang) sleep(atoi(hang));
    if (error) return atoi(error);
    sessions++;
    { int sick = trouble(NULL); if (sick) { sessions--; return sick; } }
    return SUCCESS;
}
int nvmlShutdown(void) { if (sessions) sessions--; return SUCCESS; }
const char *nvmlErrorString(int error) { return error == 9 ? "Driver Not Loaded" : "stub error"; }

int nvmlSystemGetDriverVersion(char *text, unsigned size) { ASK(NULL); snprintf(text, size, "550.54.15"); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { ASK(NULL); *version = 12040; return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *count) { ASK(NULL); *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    if (index > 1) return INVALID_ARGUMENT;
    ASK(&cards[index]);
    *device = &cards[index];
    return SUCCESS;
}
int nvmlDeviceGetUUID(Device *device, char *text, unsigned size) {
    ASK(device);
    if (device->part < 0) snprintf(text, size, "%s", card_ids[device->card]);
    else snprintf(text, size, "MIG-00000000-0000-0000-0000-00000000000%d", device->part);
    return SUCCESS;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device *card, unsigned index, Device **device) {
    ASK(card);
    if (card->card != 1 || (int)index >= part_count()) return NOT_FOUND;
    parts[index].card = 1;
    parts[index].part = (int)index;
    *device = &parts[index];
    return SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, Device **device) {
    for (int card = 0; card < 2; card++)
        if (!strcmp(uuid, card_ids[card])) return nvmlDeviceGetHandleByIndex_v2((unsigned)card, device);
    if (!strncmp(uuid, "MIG-", 4)) return nvmlDeviceGetMigDeviceHandleByIndex(&cards[1], (unsigned)atoi(uuid + 27), device);
    ASK(NULL);
    return NOT_FOUND;
}
int nvmlDeviceGetName(Device *device, char *text, unsigned size) {
    ASK(device);
    snprintf(text, size, device->part < 0 ? "%s" : "%s MIG 1g.5gb", card_names[device->card]);
    return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
    ASK(device);
    if (device->card == 0 && getenv("STUB_SHARED")) return NOT_SUPPORTED;
    memory->total = device->part >= 0 ? 5 * GIB : device->card ? 40 * GIB : 24 * GIB;
    memory->used = device->card ? GIB : 3 * GIB;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}
int nvmlDeviceGetPciInfo_v3(Device *device, Pci *pci) {
    ASK(device);
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", device->card ? 0x41 : 1);
    return SUCCESS;
}
int nvmlDeviceGetMinorNumber(Device *device, unsigned *minor) {
    ASK(device);
    *minor = (unsigned)device->card;
    return SUCCESS;
}
int nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor) {
    ASK(device);
    *major = 8;
    *minor = device->card ? 0 : 9;
    return SUCCESS;
}
int nvmlDeviceGetMigMode(Device *device, unsigned *current, unsigned *pending) {
    ASK(device);
    if (device->card == 0) return NOT_SUPPORTED;
    *current = *pending = getenv("STUB_MIG") != NULL;
    return SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned *count) { ASK(device); *count = MOST_PARTS; return SUCCESS; }
int nvmlDeviceGetGpuInstanceId(Device *device, unsigned *id) { ASK(device); *id = (unsigned)device->part + 7; return SUCCESS; }
int nvmlDeviceGetComputeInstanceId(Device *device, unsigned *id) { ASK(device); *id = 0; return SUCCESS; }

int nvmlDeviceGetUtilizationRates(Device *device, Rates *rates) {
    ASK(device);
    if (device->part >= 0) return NOT_SUPPORTED;
    rates->gpu = device->card ? 0 : 87;
    rates->memory = 10;
    return SUCCESS;
}
int nvmlDeviceGetTemperature(Device *device, int sensor, unsigned *celsius) {
    ASK(device);
    if (sensor || device->part >= 0) return NOT_SUPPORTED;
    *celsius = device->card ? 31 : 68;
    return SUCCESS;
}
int nvmlDeviceGetPowerUsage(Device *device, unsigned *milliwatts) {
    ASK(device);
    if (device->part >= 0) return NOT_SUPPORTED;
    if (device->card) return 999; /* some cards answer "unknown error" to one question, and the rest well */
    *milliwatts = 321500;
    return SUCCESS;
}
int nvmlDeviceGetPowerManagementLimit(Device *device, unsigned *milliwatts) {
    ASK(device);
    *milliwatts = limits[device->card];
    return SUCCESS;
}
int nvmlDeviceGetPowerManagementLimitConstraints(Device *device, unsigned *lowest, unsigned *highest) {
    ASK(device);
    *lowest = 100000;
    *highest = 500000;
    return SUCCESS;
}
int nvmlDeviceSetPowerManagementLimit(Device *device, unsigned milliwatts) {
    ASK(device);
    if (!getenv("STUB_ROOT")) return NO_PERMISSION;
    if (milliwatts < 100000 || milliwatts > 500000) return INVALID_ARGUMENT;
    limits[device->card] = milliwatts;
    return SUCCESS;
}

static int list(const Device *device, unsigned *count, Process *processes, const Process *all, unsigned length) {
    ASK(device);
    if (device->card) { *count = 0; return SUCCESS; }
    if (!processes || *count < length) { *count = length; return INSUFFICIENT_SIZE; }
    memcpy(processes, all, length * sizeof *all);
    *count = length;
    return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *count, Process *processes) {
    static const Process all[] = {{4321, 2 * GIB, 0, 0}, {4322, GIB / 2, 0, 0}};
    return list(device, count, processes, all, 2);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(Device *device, unsigned *count, Process *processes) {
    static const Process all[] = {{4322, GIB / 2, 0, 0}, {999, GIB / 4, 0, 0}};
    return list(device, count, processes, all, 2);
}
