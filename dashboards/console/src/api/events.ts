// Server-sent events of an answer's body. EventSource sends no headers, and so no session.
export interface ServerEvent {
  type: string;
  data: string;
}

// Takes parts of a stream, in any pieces, and returns the events that have become complete. Lines
// of comments and of retry make none.
export class EventReader {
  private text = '';

  take(part: string): ServerEvent[] {
    const blocks = (this.text + part).split('\n\n');
    this.text = blocks.pop()!;
    return blocks.map((block) => this.parse(block)).filter((event) => event.type !== '');
  }

  private parse(block: string): ServerEvent {
    const event = { type: '', data: '' };
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) event.type = line.slice('event: '.length);
      if (line.startsWith('data: ')) event.data += line.slice('data: '.length);
    }
    return event;
  }
}
