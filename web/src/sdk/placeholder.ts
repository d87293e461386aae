// Tracks that flow and say nothing, for whoever may not see or hear. A lane that
// stopped would tell that something is withheld, and a browser might freeze on
// the last true picture.

export interface Placeholder {
  track(): MediaStreamTrack | null;
  stop(): void;
}

/** Silence, made when first needed. */
export function silentTrack(): Placeholder {
  let context: AudioContext | undefined;
  let track: MediaStreamTrack | undefined;
  return {
    track() {
      if (track?.readyState === 'live') return track;
      if (typeof AudioContext === 'undefined') return null;
      context = new AudioContext();
      const silence = context.createConstantSource();
      silence.offset.value = 0;
      const out = context.createMediaStreamDestination();
      silence.connect(out);
      silence.start();
      track = out.stream.getAudioTracks()[0];
      return track ?? null;
    },
    stop() {
      track?.stop();
      void context?.close();
    },
  };
}

/** Black, painted again and again so that it flows. */
export function blackTrack(): Placeholder {
  let track: (MediaStreamTrack & { requestFrame?: () => void }) | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  return {
    track() {
      if (track?.readyState === 'live') return track;
      if (typeof document === 'undefined') return null;
      const canvas = document.createElement('canvas');
      canvas.width = 320;
      canvas.height = 180;
      const paint = canvas.getContext('2d');
      if (!paint) return null;
      const black = () => {
        paint.fillStyle = '#000';
        paint.fillRect(0, 0, canvas.width, canvas.height);
      };
      black();
      track = canvas.captureStream(2).getVideoTracks()[0];
      timer = setInterval(black, 400);
      return track ?? null;
    },
    stop() {
      clearInterval(timer);
      track?.stop();
    },
  };
}
